// Corrects the discovery document of oidc-provider (OpenID Connect Discovery 1.0, RFC 8414).
import type { KoaContextWithOIDC } from 'oidc-provider';
import { publishedResponseTypes } from '../authorization/implicit-flow.ts';
import { clientSettings } from '../clients/schema.ts';
import type { ScopeTable } from '../scopes.ts';

export function correctDiscoveryDocument(ctx: KoaContextWithOIDC, scopes: ScopeTable): void {
  const document = ctx.body as Record<string, readonly string[]>;
  const authMethods = document.token_endpoint_auth_methods_supported;
  const assertionAlgorithms = document.token_endpoint_auth_signing_alg_values_supported;
  Object.assign(document, {
    scopes_supported: scopes.all,
    response_types_supported: publishedResponseTypes(clientSettings.responseTypes),
    // Without the first member, clients would use client_secret_basic for revocation (RFC 8414 section 2).
    revocation_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  });
  ctx.set('Cache-Control', 'public, max-age=60');
}
