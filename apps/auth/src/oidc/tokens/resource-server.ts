// Describes the one resource server. A token has one audience, but may have several of our scopes
// (docs/decisions/0004-one-audience.md).
import type { ScopeTable } from '../scopes.ts';

export interface ResourceServer {
  readonly audience: string;
  /** For the setting `getResourceServerInfo`. */
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
