// Describes the resource server for which access tokens are issued, with its audience and its scopes.
//
// There is exactly one resource server, the Bookings API, and all custom scopes belong to it. The reason is that a
// token may have several of our scopes, but oidc-provider allows only one audience per token
// (docs/decisions/0004-one-audience.md).
import type { ScopeTable } from '../scopes.ts';

export interface ResourceServer {
  readonly audience: string;
  /**
   * Returns the description that oidc-provider's setting `getResourceServerInfo` needs. A token can have only those
   * custom scopes that are among `scopes`.
   */
  readonly info: (scopes: readonly string[]) => {
    readonly scope: string;
    readonly audience: string;
    readonly accessTokenFormat: 'jwt';
    readonly jwt: { readonly sign: { readonly alg: 'ES256' } };
  };
  /** Whether a scope is one of our own scopes, and not a scope of OpenID Connect. */
  readonly isCustom: (scope: string) => boolean;
}

export function createResourceServer({ scopes, audience }: { scopes: ScopeTable; audience: string }): ResourceServer {
  const isCustom = (scope: string): boolean => scopes.custom.includes(scope);
  return {
    audience,
    isCustom,
    info: (names) => ({
      scope: names.filter(isCustom).join(' '),
      audience,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: 'ES256' } },
    }),
  };
}
