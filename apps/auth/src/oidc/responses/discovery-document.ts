// Corrects the discovery document of oidc-provider (OpenID Connect Discovery 1.0, RFC 8414).
import type { KoaContextWithOIDC } from 'oidc-provider';

export interface PublishedValues {
  /** All scopes of this server. oidc-provider lists only the scopes of OpenID Connect. */
  readonly scopes: readonly string[];
  readonly responseTypes: readonly string[];
}

export function correctDiscoveryDocument(ctx: KoaContextWithOIDC, { scopes, responseTypes }: PublishedValues): void {
  const document = ctx.body as Record<string, readonly string[]>;
  const authMethods = document.token_endpoint_auth_methods_supported;
  const assertionAlgorithms = document.token_endpoint_auth_signing_alg_values_supported;
  Object.assign(document, {
    scopes_supported: scopes,
    response_types_supported: responseTypes,
    // oidc-provider leaves the following members out. Without the first one, a client would assume that revocation
    // needs client_secret_basic (RFC 8414 section 2), which a public client cannot use.
    revocation_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  });
  ctx.set('Cache-Control', 'public, max-age=60');
}
