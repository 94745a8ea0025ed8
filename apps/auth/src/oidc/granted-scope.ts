// Limits and reports the scopes that were granted.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { allowedScopes } from './registered-client.ts';
import { checkRequestedScopes } from './requested-scope.ts';
import { isOpenidFamily, offlineAccess, type ScopeTable, splitScope } from './scopes.ts';

/**
 * Removes the scopes from a code or refresh token that its client may not have any more. If a refresh request has the
 * parameter `scope`, that parameter must follow the scope rules too.
 * @throws {errors.InvalidGrant} if no scope is left that a token can have
 * @throws {errors.InvalidScope} if the parameter `scope` of a refresh request breaks a rule
 */
export function limitToAllowedScopes(
  ctx: KoaContextWithOIDC,
  token: { kind: string; scope?: string | undefined },
  scopes: ScopeTable,
): void {
  const { client } = ctx.oidc;
  const allowed = client ? allowedScopes(client) : [];
  const remaining = splitScope(token.scope).filter((scope) => allowed.includes(scope));
  const valid = remaining.includes('openid') ? remaining : remaining.filter((scope) => !isOpenidFamily(scope));
  const isEmpty = valid.every((scope) => scope === offlineAccess);
  if (isEmpty || (token.kind === 'RefreshToken' && !valid.includes(offlineAccess))) {
    throw new errors.InvalidGrant({ detail: 'the client may not have the granted scopes any more' });
  }
  token.scope = valid.join(' ');
  const requested = splitScope(ctx.oidc.params?.scope as string | undefined);
  if (client && requested.length > 0) checkRequestedScopes(scopes, client, { requested, issuesIdToken: true });
}

/**
 * Returns the requested scopes that the grant of this request contains, for the response (specification, "Scopes"
 * rule 3).
 */
export function grantedScope(ctx: KoaContextWithOIDC, requested: string | undefined, audience: string) {
  const { grant } = ctx.oidc;
  if (!grant || requested === undefined) return requested;
  const granted = new Set([...splitScope(grant.getOIDCScope()), ...splitScope(grant.getResourceScope(audience))]);
  return splitScope(requested)
    .filter((scope) => granted.has(scope))
    .join(' ');
}
