// Defines what a client can be registered for, and converts a stored client to the metadata that oidc-provider reads.
// Reads our own metadata, the scopes and the redirect URIs from the library's client object.
import { dpopAlgorithms } from '@bay-booking/service/http/dpop-proof';
import { type ClientMetadata, type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
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
import { signingAlgorithms } from '../../signing-keys/store.ts';
import {
  claimsByScope,
  findScopeError,
  offlineAccess,
  type ScopeTable,
  scopesOfAccess,
  splitScope,
} from '../scopes.ts';

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

interface OwnMetadata extends ClientSettings {
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

export const features = {
  devInteractions: { enabled: false },
  clientCredentials: { enabled: true },
  dPoP: { enabled: true },
  pushedAuthorizationRequests: { enabled: true },
  deviceFlow: { enabled: true },
  backchannelLogout: { enabled: true },
  fapi: {
    enabled: true,
    profile: (_ctx: unknown, client: RegisteredClient | undefined) =>
      client && ownMetadataOf(client).profile === 'fapi2' ? '2.0' : undefined,
  },
} satisfies Configuration['features'];

/** The server and the validation of imports use them, so an import accepts only clients that the server accepts. */
export const clientSettings = {
  scopes: [...Object.keys(claimsByScope), offlineAccess],
  claims: claimsByScope,
  // `code token` stands for `token` (authorization/implicit-flow.ts).
  responseTypes: ['code', 'code token', 'id_token token', 'id_token'],
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
  enabledJWA: {
    idTokenSigningAlgValues: [...signingAlgorithms],
    clientAuthSigningAlgValues: [...dpopAlgorithms],
    dPoPSigningAlgValues: [...dpopAlgorithms],
  },
  subjectTypes: ['public'],
  extraClientMetadata: { properties: [...ownMetadata] },
  features,
} satisfies Configuration;

/** A new grant type also needs a handler in tokens/grant-types.ts. */
export const customGrantTypes = ['client_credentials', 'password', 'social_access_token'] as const;

/** Exchanges a device code for tokens (RFC 8628 section 3.4). */
export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

export const grantTypes = ['authorization_code', 'refresh_token', deviceCodeGrantType, ...customGrantTypes] as const;

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

export type RegisteredClient = NonNullable<KoaContextWithOIDC['oidc']['client']>;

export const ownMetadataOf = (client: RegisteredClient): OwnMetadata => client as unknown as OwnMetadata;

export const allowedScopes = (client: RegisteredClient): readonly string[] =>
  splitScope(ownMetadataOf(client).allowed_scope);

/** Removes `offline_access` if there are no refresh tokens, but lets the scope rules reject it if it is not allowed. */
export function effectiveScopes(
  client: RegisteredClient,
  requested: string | undefined,
  flowHasRefreshTokens = true,
): readonly string[] {
  const canRefresh = flowHasRefreshTokens && client.grantTypeAllowed('refresh_token');
  const removesOfflineAccess = !canRefresh && allowedScopes(client).includes(offlineAccess);
  return splitScope(requested).filter((scope) => !(removesOfflineAccess && scope === offlineAccess));
}

/** @throws {errors.InvalidScope} if the client may not request one of the scopes, or may not request them together */
export function checkRequestedScopes(
  scopes: ScopeTable,
  client: RegisteredClient,
  request: { requested: readonly string[]; issuesIdToken: boolean; namesAllowed?: boolean },
): void {
  const error = findScopeError(scopes, { ...request, allowed: allowedScopes(client) });
  if (error) throw new errors.InvalidScope(error.description, error.scope);
}

/** Where a user can begin again. Undefined if the client is not a website. */
export function homePageOf(client: RegisteredClient): string | undefined {
  return client.clientUri ?? [...webOriginsOf(client)][0];
}

/** URIs with a custom scheme have no origin. */
export function webOriginsOf(client: RegisteredClient): ReadonlySet<string> {
  const origins = (client.redirectUris ?? []).map((uri) => URL.parse(uri)?.origin);
  return new Set(origins.filter((origin): origin is string => origin !== undefined && origin !== 'null'));
}
