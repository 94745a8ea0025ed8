// Converts a stored client to the metadata that oidc-provider reads. These are the registered metadata and some members
// of our own.
import type { ClientMetadata } from 'oidc-provider';
import type { ClientKind, PkcePolicy, StoredClient } from '../clients/metadata.ts';
import { type ClientSettings, clientSettingNames, clientSettingsOf } from '../clients/settings.ts';

/**
 * The names of our own members. The setting `extraClientMetadata` lists them, because the library drops members that it
 * does not know.
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
  readonly account_id: string | undefined;
  /** The facilities of the account. They are current, because each request reads the client from the database. */
  readonly facility_ids: readonly string[] | undefined;
  readonly secret_hashes: readonly string[];
}

/** The metadata of a personal access token: it can use client_credentials only. */
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
  // These response types need the grant type `implicit`. The library adds it too late: it first checks the redirect
  // URIs, and the rules for these depend on the grant type.
  const isImplicit = responseTypes?.some((type) => type.includes('token')) ?? false;
  const grantTypes = Array.isArray(metadata.grant_types) ? metadata.grant_types : ['authorization_code'];
  const hasSecret = !['none', 'private_key_jwt'].includes(String(metadata.token_endpoint_auth_method));
  const own: OwnMetadata = {
    kind: client.kind,
    pkce: client.pkce,
    allowed_scope: isPersonalAccessToken ? bookingsScope : client.scope,
    // The members below are set even if they are undefined, so that they override registered metadata of the same name.
    account_id: client.accountId ?? undefined,
    facility_ids: client.accountId === null ? undefined : (client.facilityIds ?? []),
    secret_hashes: client.secretHashes,
    ...clientSettingsOf(client.metadata),
  };
  return {
    ...metadata,
    ...(responseTypes && { response_types: responseTypes as never }),
    ...(isImplicit && { grant_types: [...new Set([...grantTypes, 'implicit'])] }),
    client_id: client.id,
    // The library requires a value here. It is never used to authenticate: client-policy.ts compares presented secrets
    // with the stored hashes. It is never used as a key either, because no symmetric algorithm is enabled.
    ...(hasSecret && { client_secret: 'kept-as-a-hash' }),
    ...own,
  };
}

/** The library has no response type `token`; implicit-flow.ts serves it as `code token`. */
const providerResponseType = (type: string): string => (type === 'token' ? 'code token' : type);

const nameOf = ({ client_name }: Readonly<Record<string, unknown>>) =>
  typeof client_name === 'string' ? { client_name } : {};
