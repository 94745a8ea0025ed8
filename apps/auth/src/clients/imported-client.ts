// How does a client of an import file become a stored one? Our own fields apart from the OIDC metadata, with the defaults that its
// kind suggests. Pure. Contract section 2.
import type { ImportedClient } from '../import/document.ts';
import { type ScopeTable, splitScope } from '../oidc/scopes.ts';
import type { StoredClient } from './metadata.ts';

export interface ClientToStore extends StoredClient {
  readonly name: string | null;
  readonly secret: string | undefined;
}

/** `hasSecret`: it is known, and has one that stays when the file leaves it out. */
export function readClient(imported: ImportedClient, hasSecret: boolean): ClientToStore {
  const { client_id: id, client_secret: secret, scope = '', kind, pkce, accountId, name, ...given } = imported;
  if (accountId !== undefined) {
    const label = name ?? (typeof given.client_name === 'string' ? given.client_name : null);
    return {
      id,
      kind: 'personal-access-token',
      pkce: 'required',
      metadata: label === null ? {} : { client_name: label },
      scope: '',
      accountId,
      secretHashes: [],
      name: label,
      secret,
    };
  }
  const metadata = withDefaults(given, secret === undefined && !hasSecret);
  const isPublic = metadata.token_endpoint_auth_method === 'none';
  return {
    id,
    kind: kind ?? 'standard',
    pkce: pkce ?? (isPublic ? 'required' : 'optional'),
    metadata,
    scope: splitScope(scope).join(' '),
    accountId: null,
    secretHashes: [],
    name: name ?? null,
    secret,
  };
}

/** A client without a secret is public, and one with an address that is no web page's is native, unless it says otherwise. */
function withDefaults(given: Readonly<Record<string, unknown>>, withoutSecret: boolean): Record<string, unknown> {
  const uris = Array.isArray(given.redirect_uris) ? given.redirect_uris : [];
  const native = uris.some((uri) => typeof uri === 'string' && !/^https?:/i.test(uri));
  const machine = uris.length === 0 && given.response_types === undefined;
  return {
    ...(withoutSecret && { token_endpoint_auth_method: 'none' }),
    ...(native && { application_type: 'native' }),
    ...(machine && { redirect_uris: [], response_types: [] }),
    ...given,
  };
}

/** What the library's schema does not know to look for. */
export function findClientFaults(client: ClientToStore, path: string, scopes: ScopeTable): string[] {
  const faults: string[] = [];
  const isPublic = client.metadata.token_endpoint_auth_method === 'none';
  const unknown = splitScope(client.scope).filter((scope) => !scopes.all.includes(scope));
  if (unknown.length > 0) faults.push(`${path}/scope: ${unknown.join(' ')} is not known`);
  if (isPublic && client.secret !== undefined) faults.push(`${path}/client_secret: a public client has none`);
  if (client.kind === 'personal-access-token' && client.accountId === null) {
    faults.push(`${path}/accountId: is missing`);
  }
  if (client.metadata.jwks_uri !== undefined || client.metadata.sector_identifier_uri !== undefined) {
    faults.push(`${path}: documents at other addresses are not fetched`);
  }
  return faults;
}
