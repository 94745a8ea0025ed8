// Describes the one resource server. A token has one audience, but may have several of our scopes
// (docs/decisions/0004-one-audience.md).
import type { ScopeTable } from '../scopes.ts';

export type ResourceServer = ReturnType<typeof createResourceServer>;

export function createResourceServer({ scopes, audience }: { scopes: ScopeTable; audience: string }) {
  const isCustom = (scope: string): boolean => scopes.custom.includes(scope);
  return {
    audience,
    isCustom,
    /** For the setting `getResourceServerInfo`. */
    info: (names: readonly string[]) => ({
      scope: names.filter(isCustom).join(' '),
      audience,
      accessTokenFormat: 'jwt' as const,
      jwt: { sign: { alg: 'ES256' as const } },
    }),
  };
}
