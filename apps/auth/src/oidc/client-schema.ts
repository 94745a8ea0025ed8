// Defines what clients can be registered for: scopes, response types, authentication methods and algorithms. The
// running provider and the check of an import (client-validation.ts) share this part of the configuration, so that an
// imported client is valid exactly if the running server accepts it.
import type { Configuration } from 'oidc-provider';
import { signingAlgorithms } from '../signing-keys/signing-key.ts';
import { claimsByScope } from './claims.ts';
import { ownMetadata } from './client-metadata.ts';
import { offlineAccess } from './scopes.ts';

/**
 * Features that change which client metadata is valid. A disabled feature does not appear in the discovery document.
 */
export const features = {
  devInteractions: { enabled: false },
  clientCredentials: { enabled: true },
  // The library enables the following two by default. DPoP is off because our own endpoints do not verify proofs: a
  // client would believe that its tokens are bound to its key although they are not.
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
} as const;

export const clientSettings = {
  scopes: [...Object.keys(claimsByScope), offlineAccess],
  claims: claimsByScope,
  // `code token` stands for `token`, which the library does not have (implicit-flow.ts).
  responseTypes: ['code', 'code token' as never, 'id_token token' as never, 'id_token'],
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
  enabledJWA: { idTokenSigningAlgValues: [...signingAlgorithms] },
  subjectTypes: ['public'],
  extraClientMetadata: { properties: [...ownMetadata] },
  features,
} satisfies Configuration;
