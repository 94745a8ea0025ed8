// Decides whether a verified access token is active.
import type { Provider } from 'oidc-provider';
import type { AccountWithMemberships } from '../../accounts/store.ts';
import type { RevocationStore } from '../../revocations/store.ts';
import { orUnavailable } from '../unavailable.ts';
import type { VerifiedAccessToken } from './access-token-verifier.ts';

export type FindAccount = (id: string) => Promise<AccountWithMemberships | undefined>;

/** A token of client_credentials has neither a grant nor an account. */
export async function findActive(
  provider: Provider,
  token: VerifiedAccessToken,
  findAccount: FindAccount,
  isRevoked: RevocationStore['isRevoked'],
) {
  const { client_id: clientId, grant_id: grantId, sub: subject } = token;
  const [revoked, client, grant, account] = await Promise.all([
    orUnavailable(() => isRevoked(token)),
    provider.Client.find(clientId),
    grantId === undefined ? undefined : provider.Grant.find(grantId),
    grantId === undefined ? undefined : orUnavailable(() => findAccount(subject)),
  ]);
  if (revoked || !client) return undefined;
  if (grantId === undefined) return { client };
  const isOwn = grant?.accountId === subject && grant.clientId === clientId;
  return isOwn && account && !account.disabledAt ? { client, grant, account } : undefined;
}
