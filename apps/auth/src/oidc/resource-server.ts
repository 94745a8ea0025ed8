// Whom are access tokens for? One resource server, one audience, which holds every custom scope: the library allows one audience a token,
// and a token may carry several of the scopes (docs/decisions/0004-one-audience.md).
import type { ScopeTable } from './scopes.ts';

export interface ResourceServer {
  readonly audience: string;
  /** As oidc-provider wants it; tokens carry at most the custom ones of `scopes`. */
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
    info: (asked) => ({
      scope: asked.filter(isCustom).join(' '),
      audience,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: 'ES256' } },
    }),
  };
}
