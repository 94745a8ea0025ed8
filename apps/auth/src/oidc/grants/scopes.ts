// Determines the scopes of the token for our own grant types, which issue no id_token.

import { checkRequestedScopes } from '../authorization/requested-scope.ts';
import { offlineAccess, type ScopeTable, splitScope } from '../authorization/scopes.ts';
import { effectiveScopes, type RegisteredClient } from '../clients/registered-client.ts';

/**
 * Returns the scopes that the token gets. If the grant type issues no refresh tokens, `offline_access` is removed
 * without an error, even if the client may not request this scope. If `offline_access` is the only scope, it is not
 * removed, so that the scope rules reject the request. For a grant type that issues refresh tokens, `effectiveScopes`
 * decides whether `offline_access` is removed.
 * @throws {errors.InvalidScope} if the scopes break a scope rule (../scopes.ts)
 */
export function resolveTokenScopes(
  table: ScopeTable,
  client: RegisteredClient,
  scope: string | undefined,
  { issuesRefreshTokens }: { issuesRefreshTokens: boolean },
): readonly string[] {
  const requested = issuesRefreshTokens ? effectiveScopes(client, scope) : withoutOfflineAccess(splitScope(scope));
  checkRequestedScopes(table, client, { requested, issuesIdToken: false });
  return requested;
}

function withoutOfflineAccess(requested: readonly string[]): readonly string[] {
  const others = requested.filter((scope) => scope !== offlineAccess);
  return others.length > 0 ? others : requested;
}
