// Corrects the discovery document of oidc-provider (OpenID Connect Discovery 1.0, RFC 8414).
import type { KoaContextWithOIDC } from 'oidc-provider';

export interface PublishedValues {
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
    // Without the first member, clients would use client_secret_basic for revocation (RFC 8414 section 2).
    revocation_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  });
  ctx.set('Cache-Control', 'public, max-age=60');
}
