// Converts a client of an import file to the form that is stored, and checks our own rules for clients, also those of
// high-security clients (docs/behaviour-auth.md, "High-security clients").
import { isDeepStrictEqual } from 'node:util';
import { isLoopback } from '@bay-booking/service/public-address';
import {
  type ClientKind,
  type PkcePolicy,
  type StoredClient,
  type TokenAccess,
  usesSecret,
} from '../clients/metadata.ts';
import type { ClientMetadataError, ClientValidator } from '../oidc/clients/validation.ts';
import { type ScopeTable, splitScope } from '../oidc/scopes.ts';

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
  const common = { id, secret, secretHashes: [] };
  // A client with an account is a personal access token.
  if (accountId !== undefined) {
    const label = name ?? (typeof metadata.client_name === 'string' ? metadata.client_name : null);
    const { access_token_ttl } = imported;
    return {
      ...common,
      kind: 'personal-access-token',
      pkce: 'required',
      metadata: { ...(label !== null && { client_name: label }), access_token_ttl },
      scope: '',
      accountId,
      access,
      facilityIds: facilities,
      name: label,
    };
  }
  const isConfidential = secret !== undefined || hasStoredSecret;
  const completed = withDefaults(withProfileSettings(metadata), { isConfidential });
  return {
    ...common,
    kind: kind ?? 'standard',
    pkce: pkce ?? (isPublic(completed) || completed.profile !== undefined ? 'required' : 'optional'),
    metadata: completed,
    scope: splitScope(scope).join(' '),
    accountId: null,
    access: 'write',
    facilityIds: null,
    name: name ?? null,
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

export const operatorScopes = (scope: string | undefined, { operate }: Pick<ScopeTable, 'operate'>) =>
  splitScope(scope).filter((one) => operate.includes(one));

/** Whether the client is a program that authenticates itself with a key. */
const isProgram = ({ accountId, kind, metadata }: ClientToStore): boolean =>
  accountId === null &&
  kind === 'standard' &&
  metadata.token_endpoint_auth_method === 'private_key_jwt' &&
  isDeepStrictEqual(metadata.grant_types, ['client_credentials']) &&
  isDeepStrictEqual(metadata.response_types, []);

export function findClientErrors(
  imported: ImportedClient,
  client: ClientToStore,
  scopes: ScopeTable,
): ClientMetadataError[] {
  const ofTokens = client.accountId === null ? (['access', 'facilities', 'expiresAt'] as const) : [];
  const unknown = splitScope(client.scope).filter((scope) => !scopes.known.includes(scope));
  const ofPrograms = isProgram(client) ? [] : operatorScopes(imported.scope, scopes);
  const programsOnly = 'is only for clients with private_key_jwt and only the grant type client_credentials';
  const hasUnusedSecret = isPublic(client.metadata) && client.secret !== undefined;
  const cannotKeepSecret =
    isInstalledApp(client.metadata) && (client.secret !== undefined || usesSecret(client.metadata));
  const lacksAccount = client.kind === 'personal-access-token' && client.accountId === null;
  const hasSectors = client.metadata.sector_identifier_uri !== undefined;
  return [
    ...(unknown.length > 0 ? [{ member: 'scope', reason: `${unknown.join(' ')} is not known` }] : []),
    ...(ofPrograms.length > 0 ? [{ member: 'scope', reason: `${ofPrograms.join(' ')} ${programsOnly}` }] : []),
    ...(hasUnusedSecret ? [{ member: 'client_secret', reason: 'a public client has none' }] : []),
    ...(cannotKeepSecret ? [{ member: 'client_secret', reason: 'a native app cannot keep a secret' }] : []),
    ...(lacksAccount ? [{ member: 'accountId', reason: 'is missing' }] : []),
    ...ofTokens
      .filter((member) => imported[member] !== undefined)
      .map((member) => ({ member, reason: 'is only for a client with accountId' })),
    ...(hasSectors ? [{ member: 'sector_identifier_uri', reason: 'is not supported' }] : []),
  ];
}

/** The metadata that the profile `fapi2` requires (FAPI 2.0 Security Profile sections 5.3.2.1 and 5.4.1). */
const fapi2Settings: Metadata = {
  token_endpoint_auth_method: 'private_key_jwt',
  require_pushed_authorization_requests: true,
  dpop_bound_access_tokens: true,
  id_token_signed_response_alg: 'ES256',
};
const fapi2ResponseTypes: readonly unknown[] = ['code'];
const fapi2GrantTypes: readonly unknown[] = ['authorization_code', 'refresh_token', 'client_credentials'];

/** The metadata that a personal access token cannot have. */
const metadataOfOtherClients: readonly string[] = [
  'profile',
  'jwks',
  'jwks_uri',
  'require_pushed_authorization_requests',
  'dpop_bound_access_tokens',
  'backchannel_logout_uri',
];

/** Adds the settings that the profile requires. `findHighSecurityErrors` reports those that the file contradicts. */
export const withProfileSettings = (metadata: Metadata): Metadata =>
  metadata.profile === 'fapi2' ? { ...fapi2Settings, ...metadata } : metadata;

/** `imported` is the client as the file contains it. */
export function findHighSecurityErrors(
  imported: ImportedClient,
  { metadata }: ClientToStore,
  { addressError }: Pick<ClientValidator, 'addressError'>,
): ClientMetadataError[] {
  const errors = metadata.profile === 'fapi2' ? findContradictions(imported, metadata) : [];
  if (imported.accountId !== undefined) {
    // A personal access token is stored without these fields. Ignoring them would make it less secure than expected.
    const ignored = metadataOfOtherClients.filter(
      (field) => imported[field] !== undefined && imported[field] !== false,
    );
    if (imported.token_endpoint_auth_method === 'private_key_jwt') ignored.push('token_endpoint_auth_method');
    errors.push(...ignored.map((member) => ({ member, reason: 'a personal access token can only have a secret' })));
  }
  if (metadata.token_endpoint_auth_method === 'private_key_jwt' && imported.client_secret !== undefined) {
    errors.push({ member: 'client_secret', reason: 'a client with private_key_jwt has none' });
  }
  errors.push(...findKeyErrors(metadata.jwks));
  for (const member of ['jwks_uri', 'backchannel_logout_uri']) {
    const address = metadata[member];
    const reason = typeof address === 'string' ? addressError(address) : undefined;
    if (reason !== undefined) errors.push({ member, reason });
  }
  if (metadata.backchannel_logout_session_required === true && metadata.backchannel_logout_uri === undefined) {
    errors.push({ member: 'backchannel_logout_session_required', reason: 'needs backchannel_logout_uri' });
  }
  return errors;
}

function findContradictions(imported: ImportedClient, metadata: Metadata): ClientMetadataError[] {
  const contradiction = (member: string, expected: string) => ({
    member,
    reason: `the profile fapi2 needs ${expected}`,
  });
  const errors = Object.entries(fapi2Settings)
    .filter(([field, value]) => metadata[field] !== value)
    .map(([field, value]) => contradiction(field, String(value)));
  if (imported.pkce === 'optional') errors.push(contradiction('pkce', 'required'));
  if (!listOf(metadata.response_types).every((type) => fapi2ResponseTypes.includes(type))) {
    errors.push(contradiction('response_types', 'code'));
  }
  if (!listOf(metadata.grant_types).every((type) => fapi2GrantTypes.includes(type))) {
    errors.push(contradiction('grant_types', fapi2GrantTypes.join(', ')));
  }
  const isSafe = (uri: unknown) => typeof uri === 'string' && (/^https:/i.test(uri) || isLoopback(uri));
  if (!listOf(metadata.redirect_uris).every(isSafe)) errors.push(contradiction('redirect_uris', 'https addresses'));
  return errors;
}

/** oidc-provider would reject private and symmetric keys without giving a reason. */
function findKeyErrors(jwks: unknown): ClientMetadataError[] {
  const keys = listOf((jwks as { keys?: unknown } | undefined)?.keys);
  if (jwks !== undefined && keys.length === 0) return [{ member: 'jwks', reason: 'contains no key' }];
  return keys.flatMap((key, index) =>
    typeof key === 'object' && key !== null && ('d' in key || 'k' in key)
      ? [{ member: `jwks/keys/${index}`, reason: 'contains a private or symmetric key' }]
      : [],
  );
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
