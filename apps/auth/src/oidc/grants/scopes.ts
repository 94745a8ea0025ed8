// Checks the scopes of a token request that issues no id_token.
import { effectiveScopes, type RegisteredClient } from '../registered-client.ts';
import { checkRequestedScopes } from '../requested-scope.ts';
import { offlineAccess, type ScopeTable, splitScope } from '../scopes.ts';

/**
 * Returns the scopes that the token gets. `issuesRefreshTokens` says whether the grant can issue refresh tokens. If it
 * cannot, `offline_access` is left out, even if the client may not request it. Alone it stays, so that the scope rules
 * reject it.
 * @throws {errors.InvalidScope}
 */
export function checkScopes(
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
