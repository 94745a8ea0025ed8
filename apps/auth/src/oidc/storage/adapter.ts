// Chooses the adapter that stores each kind of oidc-provider's records.
import type { Adapter } from 'oidc-provider';
import type { Services } from '../../services.ts';
import { providerMetadata } from '../clients/metadata.ts';
import { orUnavailable } from '../unavailable.ts';
import { createPushedRequestAdapter } from './pushed-requests.ts';
import { createRefreshTokenAdapter } from './refresh-tokens.ts';
import { createSessionAdapter } from './sessions.ts';

export function createAdapter(services: Services): (model: string) => Adapter {
  const { artifacts, clients, deviceCodes, scopes } = services;
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
      case 'DeviceCode':
        return deviceCodes.adapter;
      case 'PushedAuthorizationRequest':
        return createPushedRequestAdapter(adapter, services);
      case 'RefreshToken':
        return createRefreshTokenAdapter(adapter, services);
      case 'Session':
        return createSessionAdapter(adapter, services);
      default:
        return adapter;
    }
  };
}
