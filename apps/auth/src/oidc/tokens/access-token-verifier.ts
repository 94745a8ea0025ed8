// Verifies that a JWT is an access token that this server issued and that has not expired (RFC 9068 section 4), and
// finds its client and account.
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';
import type { Provider } from 'oidc-provider';
import type { AccountWithMemberships } from '../../accounts/store.ts';
import type { RevocationStore } from '../../revocations/store.ts';
import { orUnavailable } from '../unavailable.ts';

/** The claims. Tokens of client_credentials have no `grant_id`, and bearer tokens no `cnf` (RFC 9449 section 6.1). */
export type VerifiedAccessToken = JWTPayload & {
  readonly jti: string;
  readonly sub: string;
  readonly client_id: string;
  readonly scope?: string;
  readonly grant_id?: string;
  readonly facilities?: readonly string[];
  readonly amr?: readonly string[];
  readonly cnf?: { readonly jkt?: string };
};

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi'] as const;

/** Resolves to undefined if the token is not valid. */
export function createAccessTokenVerifier({ issuer, keys }: { issuer: string; keys: readonly object[] }) {
  const publicKeys = keys.map((key) =>
    Object.fromEntries(Object.entries(key).filter(([member]) => !privateMembers.includes(member as never))),
  );
  const keySet = createLocalJWKSet({ keys: publicKeys as never });
  return async (token: string): Promise<VerifiedAccessToken | undefined> => {
    try {
      const { payload } = await jwtVerify(token, keySet, { issuer, typ: 'at+jwt', algorithms: ['ES256'] });
      // Only this server signs such tokens, so the other claims have their types.
      return typeof payload.sub === 'string' && typeof payload.client_id === 'string'
        ? (payload as VerifiedAccessToken)
        : undefined;
    } catch {
      return undefined;
    }
  };
}

export type FindAccount = (id: string) => Promise<AccountWithMemberships | undefined>;

/** A token of client_credentials has neither a grant nor an account. */
export async function findActive(
  provider: Provider,
  token: VerifiedAccessToken,
  findAccount: FindAccount,
  isRevoked: RevocationStore['isRevoked'],
) {
  const { jti: tokenId, client_id: clientId, grant_id: grantId, sub: subject, facilities = [], iat = 0 } = token;
  const [revoked, client, grant, account] = await Promise.all([
    orUnavailable(() => isRevoked({ tokenId, clientId, grantId, subject, facilities }, iat)),
    provider.Client.find(clientId),
    grantId === undefined ? undefined : provider.Grant.find(grantId),
    grantId === undefined ? undefined : orUnavailable(() => findAccount(subject)),
  ]);
  if (revoked || !client) return undefined;
  if (grantId === undefined) return { client };
  const isOwn = grant?.accountId === subject && grant.clientId === clientId;
  return isOwn && account && !account.isDisabled ? { client, grant, account } : undefined;
}
