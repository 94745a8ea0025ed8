// Decides whether a verified access token is active.
import type { Provider } from 'oidc-provider';
import type { Account } from '../../accounts/store.ts';
import { orUnavailable } from '../unavailable.ts';
import type { VerifiedAccessToken } from './access-token-verifier.ts';

export type FindAccount = (id: string) => Promise<Account | undefined>;

/** A token of client_credentials has neither a grant nor an account. */
export async function findActive(
  provider: Provider,
  { client_id: clientId, grant_id: grantId, sub: subject }: VerifiedAccessToken,
  findAccount: FindAccount,
) {
  const [client, grant, account] = await Promise.all([
    provider.Client.find(clientId),
    grantId === undefined ? undefined : provider.Grant.find(grantId),
    grantId === undefined ? undefined : orUnavailable(() => findAccount(subject)),
  ]);
  if (!client) return undefined;
  if (grantId === undefined) return { client };
  const isOwn = grant?.accountId === subject && grant.clientId === clientId;
  return isOwn && account && !account.disabledAt ? { client, grant, account } : undefined;
}
