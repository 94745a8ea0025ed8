// Converts a client of an import file to the form in which it is stored, and checks our own rules for clients.
import { isLoopback } from '@bay-booking/service/public-address';
import {
  type ClientKind,
  type PkcePolicy,
  type StoredClient,
  type TokenAccess,
  usesSecret,
} from '../clients/metadata.ts';
import type { ClientMetadataError } from '../oidc/clients/validation.ts';
import { type ScopeTable, splitScope } from '../oidc/scopes.ts';
import { withProfileSettings } from './high-security.ts';

/** A client of a file or of a PUT, with OpenID Connect client metadata. */
export interface ImportedClient {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly scope?: string;
  readonly kind?: ClientKind;
  readonly pkce?: PkcePolicy;
  readonly accountId?: string;
  readonly access?: TokenAccess;
  readonly facilities?: readonly string[];
  readonly name?: string;
  readonly client_secret_hashes?: readonly { readonly sha256: string; readonly expiresAt?: string }[];
  readonly expiresAt?: string;
  readonly disabled?: boolean;
  readonly access_token_ttl?: number;
  readonly [metadata: string]: unknown;
}

/** `secretHashes` is empty, because the import does not read the stored secrets. */
export interface ClientToStore extends StoredClient {
  readonly name: string | null;
  /** If the file contains none, a stored secret remains valid. */
  readonly secret: string | undefined;
}

/** A client with a stored secret stays confidential, even if the file does not repeat the secret. */
export function toStoredClient(imported: ImportedClient, hasStoredSecret: boolean): ClientToStore {
  const { client_id: id, client_secret: secret, scope = '', kind, pkce, accountId, name, ...others } = imported;
  const { access = 'write', facilities = null, disabled, expiresAt, client_secret_hashes, ...metadata } = others;
  // A client with an account is a personal access token.
  if (accountId !== undefined) {
    const label = name ?? (typeof metadata.client_name === 'string' ? metadata.client_name : null);
    return {
      id,
      kind: 'personal-access-token',
      pkce: 'required',
      metadata: {
        ...(label !== null && { client_name: label }),
        access_token_ttl: imported.access_token_ttl,
      },
      scope: '',
      accountId,
      access,
      facilityIds: facilities,
      secretHashes: [],
      name: label,
      secret,
    };
  }
  const completed = withDefaults(withProfileSettings(metadata), {
    isConfidential: secret !== undefined || hasStoredSecret,
  });
  return {
    id,
    kind: kind ?? 'standard',
    pkce: pkce ?? (isPublic(completed) || completed.profile !== undefined ? 'required' : 'optional'),
    metadata: completed,
    scope: splitScope(scope).join(' '),
    accountId: null,
    access: 'write',
    facilityIds: null,
    secretHashes: [],
    name: name ?? null,
    secret,
  };
}

type Metadata = Readonly<Record<string, unknown>>;

const isPublic = (metadata: Metadata): boolean => metadata.token_endpoint_auth_method === 'none';

const redirectUrisOf = ({ redirect_uris: uris }: Metadata): readonly string[] =>
  Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];

const hasPrivateScheme = (uri: string): boolean => !/^https?:/i.test(uri);

/** Whether codes are sent to an app on the device of a user, from which anybody can read a secret (RFC 8252). */
const isInstalledApp = (metadata: Metadata): boolean =>
  redirectUrisOf(metadata).some(
    (uri) => hasPrivateScheme(uri) || (metadata.application_type === 'native' && isLoopback(uri)),
  );

/** Our default values differ from those of OpenID Connect. */
function withDefaults(metadata: Metadata, { isConfidential }: { isConfidential: boolean }): Metadata {
  const uris = redirectUrisOf(metadata);
  const isNative = uris.some(hasPrivateScheme);
  const hasNoUser = uris.length === 0 && metadata.response_types === undefined;
  return {
    ...(!isConfidential && { token_endpoint_auth_method: 'none' }),
    ...(isNative && { application_type: 'native' }),
    ...(hasNoUser && { redirect_uris: [], response_types: [] }),
    ...metadata,
  };
}

export function findClientErrors(
  imported: ImportedClient,
  client: ClientToStore,
  scopes: ScopeTable,
): ClientMetadataError[] {
  const ofTokens = client.accountId === null ? (['access', 'facilities'] as const) : [];
  const unknown = splitScope(client.scope).filter((scope) => !scopes.known.includes(scope));
  const hasUnusedSecret = isPublic(client.metadata) && client.secret !== undefined;
  const cannotKeepSecret =
    isInstalledApp(client.metadata) && (client.secret !== undefined || usesSecret(client.metadata));
  const lacksAccount = client.kind === 'personal-access-token' && client.accountId === null;
  const hasSectors = client.metadata.sector_identifier_uri !== undefined;
  return [
    ...(unknown.length > 0 ? [{ member: 'scope', reason: `${unknown.join(' ')} is not known` }] : []),
    ...(hasUnusedSecret ? [{ member: 'client_secret', reason: 'a public client has none' }] : []),
    ...(cannotKeepSecret ? [{ member: 'client_secret', reason: 'a native app cannot keep a secret' }] : []),
    ...(lacksAccount ? [{ member: 'accountId', reason: 'is missing' }] : []),
    ...ofTokens
      .filter((member) => imported[member] !== undefined)
      .map((member) => ({ member, reason: 'is only for a client with accountId' })),
    ...(hasSectors ? [{ member: 'sector_identifier_uri', reason: 'is not supported' }] : []),
  ];
}
