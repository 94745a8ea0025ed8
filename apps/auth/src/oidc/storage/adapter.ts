// Chooses the adapter that stores each kind of oidc-provider's records.
import type { Adapter } from 'oidc-provider';
import { providerMetadata } from '../clients/registered-client.ts';
import type { ProviderOptions } from '../provider-options.ts';
import { orUnavailable } from '../unavailable.ts';
import { createGrantAdapter, createRefreshTokenAdapter, createSourceAdapter } from './grant-sources.ts';
import { createPushedRequestAdapter } from './pushed-requests.ts';
import { createSessionAdapter } from './sessions.ts';

export function createAdapter(options: ProviderOptions): (model: string) => Adapter {
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
        return createSourceAdapter(model, adapter, db);
      case 'DeviceCode':
        return deviceCodes.adapter;
      case 'Grant':
        return createGrantAdapter(adapter);
      case 'PushedAuthorizationRequest':
        return createPushedRequestAdapter(adapter, db, lifetimes.interaction);
      case 'RefreshToken':
        return createRefreshTokenAdapter(createSourceAdapter(model, adapter, db), db);
      case 'Session':
        return createSessionAdapter(adapter, db, endSession);
      default:
        return adapter;
    }
  };
}
