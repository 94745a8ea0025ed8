// Checks the clients that may use the management APIs (docs/behaviour.md, "Management API").
import { isDeepStrictEqual } from 'node:util';
import type { ClientMetadataError } from '../oidc/clients/validation.ts';
import { type ScopeTable, splitScope } from '../oidc/scopes.ts';
import type { ImportedClient } from './document.ts';
import type { ClientToStore } from './imported-client.ts';

export interface OperatorRules {
  readonly scopes: ScopeTable;
  readonly stored: ClientToStore | undefined;
  /** Only the import command may give these scopes. Otherwise, an operator could make further operators. */
  readonly mayGiveScopes: boolean;
}

export function findOperatorErrors(
  imported: ImportedClient,
  { kind, metadata, accountId }: ClientToStore,
  { scopes, stored, mayGiveScopes }: OperatorRules,
): ClientMetadataError[] {
  const given = splitScope(imported.scope).filter((scope) => scopes.operate.includes(scope));
  if (given.length === 0) return [];
  const { token_endpoint_auth_method: method, grant_types: grants, response_types: responseTypes } = metadata;
  const isProgram =
    accountId === null &&
    kind === 'standard' &&
    method === 'private_key_jwt' &&
    isDeepStrictEqual(grants, ['client_credentials']) &&
    isDeepStrictEqual(responseTypes, []);
  if (!isProgram) {
    const reason = `${given.join(' ')} is only for clients with private_key_jwt and only the grant type client_credentials`;
    return [{ member: 'scope', reason }];
  }
  if (mayGiveScopes) return [];
  const storedScopes = splitScope(stored?.scope);
  const added = given.filter((scope) => !storedScopes.includes(scope));
  if (added.length > 0) return [{ member: 'scope', reason: `only the import command can give ${added.join(' ')}` }];
  return ['jwks', 'jwks_uri']
    .filter((member) => !isDeepStrictEqual(metadata[member], stored?.metadata[member]))
    .map((member) => ({ member, reason: 'only the import command can change the keys of an operator' }));
}
