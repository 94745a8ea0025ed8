// Sends a logout token to a client (OpenID Connect Back-Channel Logout 1.0 section 2.5). The library signs and sends
// the token; we decide when.
import { AddressNotAllowed } from '@bay-booking/service/outbound/client';
import type { Provider } from 'oidc-provider';
import type { LogoutResult, SendLogoutToken } from '../backchannel-logout/sender.ts';
import type { RegisteredClient } from './registered-client.ts';

type BackchannelLogout = (this: RegisteredClient, accountId: string, sid: string | undefined) => Promise<void>;

interface LogoutClient {
  readonly backchannelLogoutUri?: string;
  backchannelLogout: BackchannelLogout;
  sendLogoutToken: BackchannelLogout;
}

/**
 * Stops the library from sending logout tokens by itself. It would send them while the user waits, only for a sign-out
 * that a client requests, once for each of several simultaneous requests, and also to the requesting client of a user
 * who declines to sign out.
 */
export function takeOverLogoutTokens(provider: Provider): void {
  const client = provider.Client.prototype as unknown as LogoutClient;
  client.sendLogoutToken = client.backchannelLogout;
  client.backchannelLogout = async () => {};
}

export const createSendLogoutToken =
  (provider: () => Provider): SendLogoutToken =>
  async ({ clientId, accountId, sid }) => {
    try {
      const client = await provider().Client.find(clientId);
      const { backchannelLogoutUri, sendLogoutToken } = (client ?? {}) as Partial<LogoutClient>;
      if (!client || backchannelLogoutUri === undefined) return { outcome: 'not_registered' };
      await sendLogoutToken?.call(client, accountId, sid ?? undefined);
      return { outcome: 'sent' };
    } catch (error) {
      return failureOf(error as Error);
    }
  };

/** The message of an error may contain the address, and the address a secret. So only codes are returned. */
function failureOf(error: Error & { response?: Response; code?: unknown }): LogoutResult {
  if (error.response) return { outcome: 'rejected', status: error.response.status };
  if (error instanceof AddressNotAllowed) return { outcome: 'address_not_allowed' };
  if ((error.cause as Error | undefined)?.name === 'TimeoutError') return { outcome: 'timeout' };
  return { outcome: 'failed', reason: typeof error.code === 'string' ? error.code : error.name };
}
