// Sends logout tokens to clients (OpenID Connect Back-Channel Logout 1.0 section 2.5).
import { AddressNotAllowed } from '@bay-booking/service/outbound/client';
import type { Provider } from 'oidc-provider';
import type { LogoutResult, SendLogoutToken } from '../../outbox/logout-tokens.ts';
import type { RegisteredClient } from '../clients/registered-client.ts';

type BackchannelLogout = (this: RegisteredClient, accountId: string, sid: string | undefined) => Promise<void>;

/** The types of oidc-provider do not contain these members. */
interface LogoutClient {
  readonly backchannelLogoutUri?: string;
  backchannelLogout: BackchannelLogout;
  /** The original `backchannelLogout`. */
  sendLogoutToken: BackchannelLogout;
}

// oidc-provider would send them while the user waits, only for sign-outs that a client requests, several times for
// concurrent requests, and even if the user declines.
export function disableAutomaticLogoutTokens(provider: Provider): void {
  const client = provider.Client.prototype as unknown as LogoutClient;
  client.sendLogoutToken = client.backchannelLogout;
  client.backchannelLogout = async () => {};
}

export const createSendLogoutToken =
  (provider: () => Provider): SendLogoutToken =>
  async ({ clientId, accountId, sid }) => {
    try {
      const client = (await provider().Client.find(clientId)) as (RegisteredClient & LogoutClient) | undefined;
      if (client?.backchannelLogoutUri === undefined) return { outcome: 'not_registered' };
      await client.sendLogoutToken(accountId, sid ?? undefined);
      return { outcome: 'sent' };
    } catch (error) {
      return failureOf(error as Error);
    }
  };

/** The message of an error may contain the logout address, which may contain a secret. */
function failureOf(error: Error & { response?: Response; code?: unknown }): LogoutResult {
  if (error.response) return { outcome: 'rejected', status: error.response.status };
  if (error instanceof AddressNotAllowed) return { outcome: 'address_not_allowed' };
  if ((error.cause as Error | undefined)?.name === 'TimeoutError') return { outcome: 'timeout' };
  return { outcome: 'failed', reason: typeof error.code === 'string' ? error.code : error.name };
}
