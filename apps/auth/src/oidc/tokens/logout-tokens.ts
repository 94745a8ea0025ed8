// Sends a logout token to a client (OpenID Connect Back-Channel Logout 1.0 section 2.5). oidc-provider signs and sends
// the token. backchannel-logout/sender.ts decides when a token is sent.
import { AddressNotAllowed } from '@bay-booking/service/outbound/client';
import type { Provider } from 'oidc-provider';
import type { LogoutResult, SendLogoutToken } from '../../backchannel-logout/sender.ts';
import type { RegisteredClient } from '../clients/registered-client.ts';

type BackchannelLogout = (this: RegisteredClient, accountId: string, sid: string | undefined) => Promise<void>;

/** The members of oidc-provider's client that send logout tokens. The types of the library do not contain them. */
interface LogoutClient {
  readonly backchannelLogoutUri?: string;
  /**
   * oidc-provider calls this method when a session ends. The function below replaces the method by one that does
   * nothing.
   */
  backchannelLogout: BackchannelLogout;
  /** oidc-provider's original implementation of `backchannelLogout`, which sends the token. */
  sendLogoutToken: BackchannelLogout;
}

/**
 * Stops oidc-provider from sending logout tokens by itself, for these reasons:
 * - The library sends them while the user waits.
 * - The library sends them only if a client requests the sign-out, and not if the user signs out on our pages.
 * - If several requests end a session at the same time, the library sends the tokens several times.
 * - If the user declines to sign out, the library still sends a token to the client that requested the sign-out.
 */
export function disableAutomaticLogoutTokens(provider: Provider): void {
  const client = provider.Client.prototype as unknown as LogoutClient;
  client.sendLogoutToken = client.backchannelLogout;
  client.backchannelLogout = async () => {};
}

/** `provider` returns the current provider. A new one replaces it when the signing keys rotate. */
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

/**
 * Converts an error to a result. oidc-provider adds the response of the client to the error, if there was one. The
 * result does not contain the message of the error, because the message may contain the logout address of the client
 * (`backchannel_logout_uri`), which may contain a secret.
 */
function failureOf(error: Error & { response?: Response; code?: unknown }): LogoutResult {
  if (error.response) return { outcome: 'rejected', status: error.response.status };
  if (error instanceof AddressNotAllowed) return { outcome: 'address_not_allowed' };
  if ((error.cause as Error | undefined)?.name === 'TimeoutError') return { outcome: 'timeout' };
  return { outcome: 'failed', reason: typeof error.code === 'string' ? error.code : error.name };
}
