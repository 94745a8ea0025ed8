// Converts a stored client to the metadata that oidc-provider reads.
import type { ClientMetadata } from 'oidc-provider';
import {
  type ClientKind,
  type ClientSettings,
  clientSettingNames,
  clientSettingsOf,
  type PkcePolicy,
  type StoredClient,
  usesSecret,
} from '../../clients/metadata.ts';
import type { Membership } from '../../facilities/roles.ts';
import { type ScopeTable, scopesOfAccess } from '../scopes.ts';

/** The members that only our code uses, for the setting `extraClientMetadata`. */
export const ownMetadata = [
  'kind',
  'pkce',
  'allowed_scope',
  'account_id',
  'memberships',
  'secret_hashes',
  ...clientSettingNames,
] as const;

export interface OwnMetadata extends ClientSettings {
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  /** Space-separated. */
  readonly allowed_scope: string;
  /** The service account of a personal access token. */
  readonly account_id: string | undefined;
  /** The roles of this account at the facilities of the token. */
  readonly memberships: readonly Membership[] | undefined;
  readonly secret_hashes: readonly string[];
}

const personalAccessToken = { redirect_uris: [], response_types: [], grant_types: ['client_credentials'] };

export function providerMetadata(
  client: StoredClient & { readonly memberships?: readonly Membership[] | null },
  scopes: ScopeTable,
): ClientMetadata {
  const isPersonalAccessToken = client.kind === 'personal-access-token';
  const metadata = isPersonalAccessToken ? { ...personalAccessToken, ...nameOf(client.metadata) } : client.metadata;
  const responseTypes = Array.isArray(metadata.response_types)
    ? metadata.response_types.map((type) => providerResponseType(String(type)))
    : undefined;
  // oidc-provider would add `implicit` only after it has checked the redirect URIs, which depend on it.
  const isImplicit = responseTypes?.some((type) => type.includes('token')) ?? false;
  const grantTypes = Array.isArray(metadata.grant_types) ? metadata.grant_types : ['authorization_code'];
  const own: OwnMetadata = {
    kind: client.kind,
    pkce: client.pkce,
    allowed_scope: isPersonalAccessToken ? scopesOfAccess(client.access, scopes).join(' ') : client.scope,
    // Set even if undefined, so that they replace registered metadata of the same name.
    account_id: client.accountId ?? undefined,
    memberships:
      client.accountId === null
        ? undefined
        : (client.memberships ?? []).filter(({ facilityId }) => client.facilityIds?.includes(facilityId) ?? true),
    secret_hashes: client.secretHashes,
    ...clientSettingsOf(client.metadata),
  };
  return {
    ...metadata,
    ...(responseTypes && { response_types: responseTypes as never }),
    ...(isImplicit && { grant_types: [...new Set([...grantTypes, 'implicit'])] }),
    client_id: client.id,
    // oidc-provider requires a secret, but policy.ts compares hashes.
    ...(usesSecret(metadata) && { client_secret: 'kept-as-a-hash' }),
    ...own,
  };
}

const providerResponseType = (type: string): string => (type === 'token' ? 'code token' : type);

const nameOf = ({ client_name }: Readonly<Record<string, unknown>>) =>
  typeof client_name === 'string' ? { client_name } : {};
