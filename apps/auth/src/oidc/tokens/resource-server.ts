// Describes the two resource servers: the Bookings API, whose tokens may have several of our scopes
// (docs/decisions.md), and the management API of auth.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { type ScopeTable, splitScope } from '../scopes.ts';

export type ResourceServer = ReturnType<typeof createResourceServer>;

export interface ResourceServerOptions {
  readonly scopes: ScopeTable;
  /** The audience of the Bookings API. */
  readonly audience: string;
  readonly issuer: string;
}

export function createResourceServer({ scopes, audience, issuer }: ResourceServerOptions) {
  const managementAudience = `${issuer}/management`;
  const isCustom = (scope: string): boolean => scopes.custom.includes(scope) || scopes.operate.includes(scope);
  const audienceOf = (scope: string): string => (scope === scopes.operateAuth ? managementAudience : audience);
  const audienceFor = (scope: string | undefined): string | undefined => {
    const custom = splitScope(scope).find(isCustom);
    return custom === undefined ? undefined : audienceOf(custom);
  };
  return {
    audience,
    /** What a token for the management API needs. */
    management: { audience: managementAudience, scope: scopes.operateAuth },
    isCustom,
    /** Returns the audience of a token with this scope. Undefined if it needs none. */
    audienceFor,
    /** @throws {errors.InvalidTarget} unless every requested resource (RFC 8707) is the one of the scope */
    checkRequested: (requested: unknown, scope: string | undefined): void => {
      // A refresh may leave the scope out. Its tokens are for the Bookings API.
      const expected = audienceFor(scope) ?? audience;
      if ([requested ?? []].flat().some((resource) => resource !== expected)) {
        throw new errors.InvalidTarget('resource is not one that this server issues such tokens for');
      }
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

/** @throws {errors.InvalidTarget} if the token request names a resource that the user has not granted */
export function checkGrantedResource(
  { oidc }: KoaContextWithOIDC,
  granted: { readonly resource?: string | readonly string[] | undefined },
): void {
  const { resource = [] } = (oidc.body ?? {}) as { resource?: string | string[] };
  if ([resource].flat().some((name) => ![granted.resource].flat().includes(name))) throw new errors.InvalidTarget();
}
