// Converts a stored client to the metadata that oidc-provider reads: the registered metadata, and additional members
// that only our code uses.
import type { ClientMetadata } from 'oidc-provider';
import { type ClientKind, type PkcePolicy, type StoredClient, usesSecret } from '../../clients/metadata.ts';
import { type ClientSettings, clientSettingNames, clientSettingsOf } from '../../clients/settings.ts';

/**
 * The names of the members that we add to the metadata of a client. The setting `extraClientMetadata` of oidc-provider
 * contains these names, because the library drops members that it does not know.
 */
export const ownMetadata = [
  'kind',
  'pkce',
  'allowed_scope',
  'account_id',
  'facility_ids',
  'secret_hashes',
  ...clientSettingNames,
] as const;

export interface OwnMetadata extends ClientSettings {
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  /** Every scope that the client may request, space-separated. */
  readonly allowed_scope: string;
  /** The service account to which a personal access token belongs. Undefined for other clients. */
  readonly account_id: string | undefined;
  /**
   * The facilities of the account. Undefined if the client has no account. Each request reads the client from the
   * database, so this list is up to date.
   */
  readonly facility_ids: readonly string[] | undefined;
  readonly secret_hashes: readonly string[];
}

/** The metadata of a personal access token, which can only use the grant type client_credentials. */
const personalAccessToken = { redirect_uris: [], response_types: [], grant_types: ['client_credentials'] };

export function providerMetadata(
  client: StoredClient & { readonly facilityIds?: readonly string[] | null },
  bookingsScope: string,
): ClientMetadata {
  const isPersonalAccessToken = client.kind === 'personal-access-token';
  const metadata = isPersonalAccessToken ? { ...personalAccessToken, ...nameOf(client.metadata) } : client.metadata;
  const responseTypes = Array.isArray(metadata.response_types)
    ? metadata.response_types.map((type) => providerResponseType(String(type)))
    : undefined;
  // Response types that contain `token` or `id_token` need the grant type `implicit`. It is added here, because
  // oidc-provider's rules for redirect URIs depend on it. The library itself would add it only after the check of the
  // redirect URIs.
  const isImplicit = responseTypes?.some((type) => type.includes('token')) ?? false;
  const grantTypes = Array.isArray(metadata.grant_types) ? metadata.grant_types : ['authorization_code'];
  const own: OwnMetadata = {
    kind: client.kind,
    pkce: client.pkce,
    allowed_scope: isPersonalAccessToken ? bookingsScope : client.scope,
    // These members are set even if they are undefined, so that they replace registered metadata of the same name.
    account_id: client.accountId ?? undefined,
    facility_ids: client.accountId === null ? undefined : (client.facilityIds ?? []),
    secret_hashes: client.secretHashes,
    ...clientSettingsOf(client.metadata),
  };
  return {
    ...metadata,
    // The stored values have the type string. oidc-provider checks them.
    ...(responseTypes && { response_types: responseTypes as never }),
    ...(isImplicit && { grant_types: [...new Set([...grantTypes, 'implicit'])] }),
    client_id: client.id,
    // oidc-provider requires a secret, but never uses it: client-policy.ts authenticates clients by the hashes of their
    // secrets, and no algorithm that signs with the secret is enabled.
    ...(usesSecret(metadata) && { client_secret: 'kept-as-a-hash' }),
    ...own,
  };
}

/** oidc-provider has no response type `token`. implicit-flow.ts serves this type as `code token`. */
const providerResponseType = (type: string): string => (type === 'token' ? 'code token' : type);

const nameOf = ({ client_name }: Readonly<Record<string, unknown>>) =>
  typeof client_name === 'string' ? { client_name } : {};
