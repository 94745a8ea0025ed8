// Chooses the adapter that stores each kind of oidc-provider's records.
import type { Database } from '@bay-booking/service/database/database';
import type { Adapter } from 'oidc-provider';
import type { ClientStore } from '../../clients/store.ts';
import { providerMetadata } from '../clients/registered-client.ts';
import type { ScopeTable } from '../scopes.ts';
import { orUnavailable } from '../unavailable.ts';
import type { ArtifactStore } from './artifacts.ts';
import type { DeviceCodes } from './device-codes.ts';
import { createGrantAdapter, createSourceAdapter } from './grant-sources.ts';
import { createPushedRequestAdapter } from './pushed-requests.ts';
import { createRefreshTokenAdapter } from './refresh-tokens.ts';
import { createSessionAdapter, type EndSession } from './sessions.ts';

export function createAdapter(options: {
  readonly artifacts: ArtifactStore;
  readonly clients: ClientStore;
  readonly deviceCodes: DeviceCodes;
  readonly scopes: ScopeTable;
  readonly db: Database;
  readonly lifetimes: { readonly interaction: number };
  readonly endSession: EndSession;
}): (model: string) => Adapter {
  const { db, artifacts, clients, deviceCodes, scopes, lifetimes, endSession } = options;
  /** Every request reads the database, so a disabled client is rejected at once. */
  const findClient = async (id: string) => {
    const client = await orUnavailable(() => clients.findActive(id));
    return client && providerMetadata(client, scopes);
  };
  return (model) => {
    const adapter = artifacts.adapterFor(model);
    switch (model) {
      case 'Client':
        // oidc-provider never writes clients: they are imported, or created in the portal.
        return { ...adapter, find: findClient };
      case 'AuthorizationCode':
        return createSourceAdapter(model, adapter, { db });
      case 'DeviceCode':
        return deviceCodes.adapter;
      case 'Grant':
        return createGrantAdapter(adapter);
      case 'PushedAuthorizationRequest':
        return createPushedRequestAdapter(adapter, { db, lifetimes });
      case 'RefreshToken':
        return createRefreshTokenAdapter(createSourceAdapter(model, adapter, { db }), { db });
      case 'Session':
        return createSessionAdapter(adapter, { db, endSession });
      default:
        return adapter;
    }
  };
}
