// Describes the two resource servers: the Bookings API, whose tokens may have several of our scopes
// (docs/decisions.md), and the management API of auth.
import { type ScopeTable, splitScope } from '../scopes.ts';

export type ResourceServer = ReturnType<typeof createResourceServer>;

export interface ResourceServerOptions {
  readonly scopes: ScopeTable;
  /** Of the Bookings API. */
  readonly audience: string;
  readonly issuer: string;
}

export function createResourceServer({ scopes, audience, issuer }: ResourceServerOptions) {
  const managementAudience = `${issuer}/management`;
  const isCustom = (scope: string): boolean => scopes.custom.includes(scope) || scopes.operate.includes(scope);
  const audienceOf = (scope: string): string => (scope === scopes.operateAuth ? managementAudience : audience);
  return {
    audience,
    managementAudience,
    isCustom,
    /** Returns the audience of a token with this scope. Undefined if it needs none. */
    audienceFor: (scope: string | undefined): string | undefined => {
      const custom = splitScope(scope).find(isCustom);
      return custom === undefined ? undefined : audienceOf(custom);
    },
    /** For the setting `getResourceServerInfo`. */
    info: (names: readonly string[], requested = audience) => ({
      scope: names.filter((name) => isCustom(name) && audienceOf(name) === requested).join(' '),
      audience: requested,
      accessTokenFormat: 'jwt' as const,
      jwt: { sign: { alg: 'ES256' as const } },
    }),
  };
}
