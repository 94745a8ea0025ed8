// Corrects the discovery document of oidc-provider (OpenID Connect Discovery 1.0, RFC 8414).
import type { KoaContextWithOIDC } from 'oidc-provider';
import { publishedResponseTypes } from '../authorization/implicit-flow.ts';

/**
 * `scopes` are all scopes of this server. oidc-provider lists only the scopes of OpenID Connect. Clients may store the
 * document for a minute.
 */
export function correctDiscoveryDocument(ctx: KoaContextWithOIDC, scopes: readonly string[]): void {
  const document = ctx.body as Record<string, readonly string[]>;
  const authMethods = document.token_endpoint_auth_methods_supported;
  const assertionAlgorithms = document.token_endpoint_auth_signing_alg_values_supported;
  Object.assign(document, {
    scopes_supported: scopes,
    response_types_supported: publishedResponseTypes(document.response_types_supported ?? []),
    // oidc-provider leaves the following members out. Without the first one, a client would assume that revocation
    // needs client_secret_basic (RFC 8414 section 2), which a public client cannot use. Without the others, a client
    // could not find out how it can authenticate at the two endpoints.
    revocation_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  });
  ctx.set('Cache-Control', 'public, max-age=60');
}
