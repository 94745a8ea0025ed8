// Checks the scopes of a token request that issues no id_token.
import { effectiveScopes, type RegisteredClient } from '../registered-client.ts';
import { checkRequestedScopes } from '../requested-scope.ts';
import type { ScopeTable } from '../scopes.ts';

/**
 * Returns the scopes that the token gets. `issuesRefreshTokens` says whether the grant can issue refresh tokens.
 * @throws {errors.InvalidScope}
 */
export function checkScopes(
  table: ScopeTable,
  client: RegisteredClient,
  scope: string | undefined,
  { issuesRefreshTokens }: { issuesRefreshTokens: boolean },
): readonly string[] {
  const requested = effectiveScopes(client, scope, issuesRefreshTokens);
  checkRequestedScopes(table, client, { requested, issuesIdToken: false });
  return requested;
}
