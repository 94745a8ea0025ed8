// What may a client be registered for? The part of oidc-provider's configuration that its client schema reads; shared by the running
// provider and by the check of an import.
import type { Configuration } from 'oidc-provider';
import { signingAlgorithms } from '../signing-keys/store.ts';
import { ownMetadata } from './client-metadata.ts';
import { claimsOfScopes, offlineAccess } from './scopes.ts';

/** Grants of ours; `client_credentials` takes the place of the library's. */
export const ownGrantTypes = ['client_credentials', 'password', 'social_access_token'] as const;

/** On with their rules in provider.ts, or off and out of the discovery document. */
export const switches = {
  devInteractions: { enabled: false },
  clientCredentials: { enabled: true },
  // A downgrade while one part of the system does not check the proof: off as a whole.
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
} as const;

export const clientSettings = {
  scopes: [...Object.keys(claimsOfScopes), offlineAccess],
  claims: claimsOfScopes,
  responseTypes: ['code', 'code token' as never, 'id_token token' as never, 'id_token'],
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
  enabledJWA: { idTokenSigningAlgValues: [...signingAlgorithms] },
  subjectTypes: ['public'],
  extraClientMetadata: { properties: [...ownMetadata] },
  features: switches,
} satisfies Configuration;
