// Chooses the adapter that stores each kind of oidc-provider's records.
import type { Database } from '@bay-booking/service/database/database';
import type { Adapter } from 'oidc-provider';
import type { ArtifactStore } from './artifacts.ts';
import { type ClientOptions, createClientAdapter } from './clients.ts';
import type { DeviceCodes } from './device-codes.ts';
import type { EndSession } from './ended-sessions.ts';
import { createPushedRequestAdapter } from './pushed-requests.ts';
import { createRefreshTokenAdapter } from './refresh-tokens.ts';
import { createSessionAdapter } from './sessions.ts';

export interface AdapterOptions extends ClientOptions {
  readonly db: Database;
  readonly artifacts: ArtifactStore;
  readonly deviceCodes: Pick<DeviceCodes, 'adapter'>;
  readonly interactionLifetime: number;
  readonly endSession: EndSession;
}

export function createAdapter(options: AdapterOptions): (model: string) => Adapter {
  const { db, artifacts, deviceCodes, interactionLifetime, endSession, findClient } = options;
  return (model) => {
    const adapter = artifacts.adapterFor(model);
    switch (model) {
      case 'Client':
        return createClientAdapter({ findClient });
      case 'DeviceCode':
        return deviceCodes.adapter;
      case 'PushedAuthorizationRequest':
        return createPushedRequestAdapter({ db, adapter, interactionLifetime });
      case 'RefreshToken':
        return createRefreshTokenAdapter({ db, adapter });
      case 'Session':
        return createSessionAdapter({ db, adapter, endSession });
      default:
        return adapter;
    }
  };
}
