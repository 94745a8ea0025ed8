// Checks the scopes of a token request that issues no id_token.
import { errors } from 'oidc-provider';
import { allowedScopes, effectiveScopes, type RegisteredClient } from '../registered-client.ts';
import { findScopeError, type ScopeTable } from '../scopes.ts';

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
  const error = findScopeError(table, { requested, allowed: allowedScopes(client), issuesIdToken: false });
  if (error) throw new errors.InvalidScope(error.description, error.scope);
  return requested;
}
