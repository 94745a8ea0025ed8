// Limits the scopes of stored codes and refresh tokens to those that the client may still have, and determines the
// parameter `scope` of responses.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { allowedScopes, checkRequestedScopes } from '../clients/registered-client.ts';
import { isOpenidFamily, offlineAccess, type ScopeTable, splitScope } from '../scopes.ts';

export function limitToAllowedScopes(
  ctx: KoaContextWithOIDC,
  token: { kind: string; scope?: string | undefined },
  scopes: ScopeTable,
): void {
  const { client } = ctx.oidc;
  const allowed = client ? allowedScopes(client) : [];
  const remaining = splitScope(token.scope).filter((scope) => allowed.includes(scope));
  // Rule 2 in scopes.ts
  const valid = remaining.includes('openid') ? remaining : remaining.filter((scope) => !isOpenidFamily(scope));
  const hasAccessTokenScope = valid.some((scope) => scope !== offlineAccess);
  if (!hasAccessTokenScope || (token.kind === 'RefreshToken' && !valid.includes(offlineAccess))) {
    throw new errors.InvalidGrant({ detail: 'the client may not have the granted scopes any more' });
  }
  token.scope = valid.join(' ');
  const requested = splitScope(ctx.oidc.params?.scope as string | undefined);
  if (client && requested.length > 0) checkRequestedScopes(scopes, client, { requested, issuesIdToken: true });
}

/** Returns the requested scopes that the user granted (specification, "Scopes" rule 3). */
export function grantedScope(ctx: KoaContextWithOIDC, requested: string | undefined, audience: string) {
  const { grant } = ctx.oidc;
  if (!grant || requested === undefined) return requested;
  const granted = new Set([...splitScope(grant.getOIDCScope()), ...splitScope(grant.getResourceScope(audience))]);
  return splitScope(requested)
    .filter((scope) => granted.has(scope))
    .join(' ');
}
