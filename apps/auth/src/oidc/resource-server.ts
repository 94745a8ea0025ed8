// Describes the resource server that access tokens are issued for: its audience and its scopes. There is exactly one,
// and all custom scopes belong to it. oidc-provider allows one audience per token, and a token may have several of
// our scopes (docs/decisions/0004-one-audience.md).
import type { ScopeTable } from './scopes.ts';

export interface ResourceServer {
  readonly audience: string;
  /** Returns `getResourceServerInfo` of the configuration. A token has at most the custom scopes among `scopes`. */
  readonly info: (scopes: readonly string[]) => {
    readonly scope: string;
    readonly audience: string;
    readonly accessTokenFormat: 'jwt';
    readonly jwt: { readonly sign: { readonly alg: 'ES256' } };
  };
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
