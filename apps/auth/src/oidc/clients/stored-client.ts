// Defines a client of an import file and converts it to the form that is stored and back.
import { isDeepStrictEqual } from 'node:util';
import { isoTimeOf } from '@bay-booking/common/date-times';
import { nameSchema, textSchema } from '@bay-booking/common/text';
import type { Fields } from '@bay-booking/records/record';
import { hashSecret } from '@bay-booking/service/secret-box';
import type { FromSchema } from 'json-schema-to-ts';
import { withoutNulls } from '../../audit/store.ts';
import { accessLevels, type ClientState, clientSettingSchemas, usesSecret } from '../../clients/metadata.ts';
import { splitScope } from '../scopes.ts';

/** A client id or client secret (RFC 6749 appendix A.1 and A.2). Unlike the RFC, we do not allow spaces. */
const visibleAscii = { type: 'string', minLength: 1, maxLength: 256, pattern: '^[\\u0021-\\u007e]*$' } as const;
const dateTime = { type: 'string', format: 'date-time' } as const;
export const clientSchema = {
  type: 'object',
  required: ['client_id'],
  properties: {
    client_id: { ...visibleAscii, format: 'id' },
    client_secret: { ...visibleAscii, writeOnly: true },
    scope: { type: 'string', maxLength: 2000 },
    kind: { enum: ['standard', 'driving-range', 'personal-access-token'] },
    pkce: { enum: ['required', 'optional'] },
    accountId: textSchema,
    access: { enum: accessLevels },
    facilities: { type: 'array', items: textSchema },
    name: nameSchema,
    client_name: nameSchema,
    client_secret_hashes: {
      type: 'array',
      writeOnly: true,
      maxItems: 10,
      items: {
        type: 'object',
        required: ['sha256'],
        additionalProperties: false,
        properties: { sha256: { type: 'string', pattern: '^[\\w-]{43}$' }, expiresAt: dateTime },
      },
    },
    expiresAt: dateTime,
    disabled: { type: 'boolean' },
    secretExpiresAt: {
      type: ['string', 'null'],
      format: 'date-time',
      readOnly: true,
      description: 'When the old secret stops working, after a rotation.',
    },
    ...clientSettingSchemas,
  },
} as const;

/** Further fields are OpenID Connect client metadata. */
export type ImportedClient = FromSchema<typeof clientSchema>;

/** The client as an import file has it, without its secrets. */
export function clientRecordOf({
  id,
  accountId,
  access,
  facilityIds,
  metadata,
  pkce,
  scope,
  secrets,
  ...common
}: ClientState) {
  const { client_name, ...settings } = metadata;
  const [own, shown] =
    accountId === null ? [{ pkce, scope }, metadata] : [{ accountId, access, facilities: facilityIds }, settings];
  return { client_id: id, ...withoutNulls({ ...common, ...own }), ...shown } as ImportedClient;
}

export const secretHashesOf = ({ metadata, secrets }: ClientState): object =>
  usesSecret(metadata) && secrets.length > 0 ? { client_secret_hashes: secrets.map(withoutNulls) } : {};

/** A client with a stored secret stays confidential, even if the file does not repeat the secret. */
export function toStoredClient(imported: ImportedClient, secrets: ClientState['secrets']): ClientState {
  const { client_id: id, client_secret, scope = '', kind, pkce, accountId, name, ...others } = imported;
  const {
    access = 'write',
    facilities = null,
    disabled = false,
    expiresAt,
    client_secret_hashes,
    skip_consent,
    ...settings
  } = others;
  const metadata: Metadata = { ...settings, ...(skip_consent === true && { skip_consent }) };
  const common = { id, disabled, secrets };
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
      expiresAt: isoTimeOf(expiresAt),
    };
  }
  const isConfidential = client_secret_hashes !== undefined || secrets.length > 0;
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
    expiresAt: null,
  };
}

type Metadata = ClientState['metadata'];

export const isPublic = (metadata: Metadata): boolean => metadata.token_endpoint_auth_method === 'none';

export const redirectUrisOf = ({ redirect_uris: uris }: Metadata): readonly string[] =>
  Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];

export const hasPrivateScheme = (uri: string): boolean => !/^https?:/i.test(uri);

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

/** The metadata that the profile `fapi2` requires (FAPI 2.0 Security Profile sections 5.3.2.1 and 5.4.1). */
export const fapi2Settings: Metadata = {
  token_endpoint_auth_method: 'private_key_jwt',
  require_pushed_authorization_requests: true,
  dpop_bound_access_tokens: true,
  id_token_signed_response_alg: 'ES256',
};
/** Adds the settings that the profile requires. `findContradictions` reports those that the file contradicts. */
const withProfileSettings = (metadata: Metadata): Metadata =>
  metadata.profile === 'fapi2' ? { ...fapi2Settings, ...metadata } : metadata;

/** A secret in the record replaces all stored secrets, and does not expire. */
export function secretsOf({ client_secret, client_secret_hashes }: ImportedClient, before: ClientState | undefined) {
  if (client_secret !== undefined) {
    const sha256 = hashSecret(client_secret);
    return [{ sha256, expiresAt: null }];
  }
  if (client_secret_hashes === undefined) return before?.secrets ?? [];
  return client_secret_hashes.map(({ sha256, expiresAt }) => ({
    sha256,
    expiresAt: isoTimeOf(expiresAt),
  }));
}

/** The record with which `toStoredClient` gives the complete client. */
export function completeClient(record: ImportedClient, stored: ClientState | undefined, keep: boolean): ImportedClient {
  if (!stored) return record;
  if (!keep) {
    const { kind, accountId } = stored;
    return record.kind === undefined && accountId === null ? { kind, ...record } : record;
  }
  const { name, ...kept } = withoutDerivedFields(stored);
  // A personal access token has one name, under two fields.
  const hasOtherName = kept.accountId !== undefined && record.client_name !== undefined;
  return { ...kept, ...(name !== undefined && !hasOtherName && { name }), ...record };
}

/** toStoredClient derives these fields. If they stayed, a client with its first redirect URI had no response type. */
const derivedFields = [['redirect_uris', 'response_types'], ['application_type'], ['token_endpoint_auth_method']];

function withoutDerivedFields(stored: ClientState): ImportedClient {
  let record: ImportedClient = clientRecordOf(stored);
  for (const fields of derivedFields) {
    const shorter = Object.fromEntries(
      Object.entries(record as Fields).filter(([field]) => !fields.includes(field)),
    ) as ImportedClient;
    const { metadata } = toStoredClient(shorter, stored.secrets);
    if (isDeepStrictEqual(metadata, stored.metadata)) record = shorter;
  }
  return record;
}
