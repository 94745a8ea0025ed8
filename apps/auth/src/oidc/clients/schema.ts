// Defines the scopes, response types, authentication methods and algorithms that a client can be registered for.
//
// These settings are part of the configuration of oidc-provider. The running server (provider.ts) and the validation of
// an import (client-validation.ts) both use them. An import therefore accepts only clients that the server accepts.
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import type { Configuration } from 'oidc-provider';
import { signingAlgorithms } from '../../signing-keys/signing-key.ts';
import { claimsByScope, offlineAccess } from '../scopes.ts';
import { ownMetadata } from './metadata.ts';
import { ownMetadataOf, type RegisteredClient } from './registered-client.ts';

/** The features of oidc-provider that determine which client metadata is valid. */
export const features = {
  // oidc-provider's sign-in pages for development. We have our own pages.
  devInteractions: { enabled: false },
  clientCredentials: { enabled: true },
  // provider.ts adds the secret from which nonces are made. dpop.ts verifies the proofs that oidc-provider does not
  // verify: in token requests of our own grant types, and at our own userinfo endpoint.
  dPoP: { enabled: true },
  pushedAuthorizationRequests: { enabled: true },
  // provider.ts replaces this setting by one with our pages.
  deviceFlow: { enabled: true },
  // logout-tokens.ts decides when a logout token is sent.
  backchannelLogout: { enabled: true },
  fapi: {
    enabled: true,
    profile: (_ctx: unknown, client: RegisteredClient | undefined) =>
      client && ownMetadataOf(client).profile === 'fapi2' ? '2.0' : undefined,
  },
} satisfies Configuration['features'];

/** The settings of oidc-provider that decide which client metadata is valid. */
export const clientSettings = {
  scopes: [...Object.keys(claimsByScope), offlineAccess],
  claims: claimsByScope,
  // oidc-provider does not support the response type `token`. A client with this type is registered for `code token`
  // instead (implicit-flow.ts).
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
