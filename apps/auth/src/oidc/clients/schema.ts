// Defines what a client can be registered for. The server and the validation of imports use these settings, so an
// import accepts only clients that the server accepts.
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import type { Configuration } from 'oidc-provider';
import { signingAlgorithms } from '../../signing-keys/store.ts';
import { claimsByScope, offlineAccess } from '../scopes.ts';
import { ownMetadata, ownMetadataOf, type RegisteredClient } from './registered-client.ts';

export const features = {
  devInteractions: { enabled: false },
  clientCredentials: { enabled: true },
  dPoP: { enabled: true },
  pushedAuthorizationRequests: { enabled: true },
  deviceFlow: { enabled: true },
  backchannelLogout: { enabled: true },
  fapi: {
    enabled: true,
    profile: (_ctx: unknown, client: RegisteredClient | undefined) =>
      client && ownMetadataOf(client).profile === 'fapi2' ? '2.0' : undefined,
  },
} satisfies Configuration['features'];

export const clientSettings = {
  scopes: [...Object.keys(claimsByScope), offlineAccess],
  claims: claimsByScope,
  // `code token` stands for `token` (authorization/implicit-flow.ts).
  responseTypes: ['code', 'code token', 'id_token token', 'id_token'],
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
  enabledJWA: {
    idTokenSigningAlgValues: [...signingAlgorithms],
    clientAuthSigningAlgValues: [...dpopAlgorithms],
    dPoPSigningAlgValues: [...dpopAlgorithms],
  },
  subjectTypes: ['public'],
  extraClientMetadata: { properties: [...ownMetadata] },
  features,
} satisfies Configuration;

/** A new grant type also needs a handler in tokens/grant-types.ts. */
export const customGrantTypes = ['client_credentials', 'password', 'social_access_token'] as const;

/** Exchanges a device code for tokens (RFC 8628 section 3.4). */
export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

export const grantTypes = ['authorization_code', 'refresh_token', deviceCodeGrantType, ...customGrantTypes] as const;
