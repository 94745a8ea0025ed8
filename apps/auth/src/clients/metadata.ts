// How does a stored client look to oidc-provider? Its standard metadata as registered, plus what only we know under names of our own.
// Pure. Contract section 2 (import) and 6.
import type { ClientMetadata } from 'oidc-provider';

export type ClientKind = 'standard' | 'driving-range' | 'personal-access-token';
export type PkcePolicy = 'required' | 'optional';

export interface StoredClient {
  readonly id: string;
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly scope: string;
  readonly accountId: string | null;
  readonly secretHashes: readonly string[];
}

/** Metadata of ours that oidc-provider keeps on its client; everything it does not know is dropped unless listed. */
export const ownMetadata = ['kind', 'pkce', 'allowed_scope', 'account_id', 'facility_ids', 'secret_hashes'] as const;

export interface OwnMetadata {
  readonly kind: ClientKind;
  readonly pkce: PkcePolicy;
  readonly allowed_scope: string;
  readonly account_id?: string;
  /** Those of the account, as they are now: a client is looked up for every request. */
  readonly facility_ids?: readonly string[];
  readonly secret_hashes: readonly string[];
}

const patMetadata = { redirect_uris: [], response_types: [], grant_types: ['client_credentials'] };

/**
 * oidc-provider has no `token` alone; a client that may have it may have `code token`, of which the code never leaves us (implicit.ts).
 */
const providerResponseType = (type: string): string => (type === 'token' ? 'code token' : type);

export function providerMetadata(
  client: StoredClient & { readonly facilityIds?: readonly string[] | null },
  bookingsScope: string,
): ClientMetadata {
  const isPat = client.kind === 'personal-access-token';
  const metadata = isPat ? { ...patMetadata, ...nameOf(client.metadata) } : client.metadata;
  const responseTypes = Array.isArray(metadata.response_types)
    ? metadata.response_types.map((type) => providerResponseType(String(type)))
    : undefined;
  // The library adds this grant type by itself, but only after it has looked at the redirect URIs by its rules.
  const isImplicit = responseTypes?.some((type) => type.includes('token')) ?? false;
  const grantTypes = Array.isArray(metadata.grant_types) ? metadata.grant_types : ['authorization_code'];
  const isPublic = metadata.token_endpoint_auth_method === 'none';
  const own: OwnMetadata = {
    kind: client.kind,
    pkce: client.pkce,
    allowed_scope: isPat ? bookingsScope : client.scope,
    ...(client.accountId !== null && { account_id: client.accountId, facility_ids: client.facilityIds ?? [] }),
    secret_hashes: client.secretHashes,
  };
  return {
    ...metadata,
    ...(responseTypes && { response_types: responseTypes as never }),
    ...(isImplicit && { grant_types: [...new Set([...grantTypes, 'implicit'])] }),
    client_id: client.id,
    // The library wants one to be there; it is compared with the hashes alone, and no symmetric algorithm is enabled to use it as a key.
    ...(!isPublic && { client_secret: 'kept-as-a-hash' }),
    ...own,
  };
}

const nameOf = ({ client_name }: Readonly<Record<string, unknown>>) =>
  typeof client_name === 'string' ? { client_name } : {};
