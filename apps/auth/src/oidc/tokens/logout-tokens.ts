// Sends logout tokens to the clients of ended sessions (OpenID Connect Back-Channel Logout 1.0 section 2.5;
// docs/behaviour-auth.md, "Back-channel logout"). A token is never sent again.
import { AddressNotAllowed } from '@bay-booking/service/outbound';
import type { Provider } from 'oidc-provider';
import type { Audit } from '../../audit/audit.ts';
import type { OutboxSender } from '../../outbox/outbox.ts';
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

/** The outcome `not_registered` means that the client is disabled, deleted or has no logout URL any more. */
const outcomes = ['sent', 'rejected', 'address_not_allowed', 'timeout', 'failed', 'not_registered', 'expired'] as const;

interface LogoutResult {
  readonly outcome: (typeof outcomes)[number];
  readonly status?: number;
  /** The error code of a failed connection, such as `ECONNREFUSED`. */
  readonly reason?: string | undefined;
}

/** After an hour, the user has probably signed in again. A token that has no `sid` would end the new session too. */
const maxAgeSeconds = 3_600;

export function createLogoutTokenSender(
  provider: () => Provider,
  audit: Pick<Audit, 'record'>,
  isReady: () => boolean,
): OutboxSender {
  const send = async (clientId: string, accountId: string, sid: string | null): Promise<LogoutResult> => {
    try {
      const client = (await provider().Client.find(clientId)) as (RegisteredClient & LogoutClient) | undefined;
      if (client?.backchannelLogoutUri === undefined) return { outcome: 'not_registered' };
      await client.sendLogoutToken(accountId, sid ?? undefined);
      return { outcome: 'sent' };
    } catch (error) {
      return failureOf(error as Error);
    }
  };

  return {
    results: outcomes,
    isRepeatable: false,
    isReady,
    send: async ({ target: clientId, accountId, payload, ageSeconds }) => {
      const account = accountId ?? '';
      const { sid } = payload as { readonly sid: string | null };
      const isTooOld = ageSeconds > maxAgeSeconds;
      const result: LogoutResult = isTooOld ? { outcome: 'expired' } : await send(clientId, account, sid);
      const kind = result.outcome === 'sent' ? 'logout-token.sent' : 'logout-token.failed';
      audit.record({ kind, clientId, accountId: account, detail: { ...result } });
      return { result: result.outcome };
    },
  };
}

/** The message of an error may contain the logout URL, which may contain a secret. */
function failureOf(error: Error & { response?: Response; code?: unknown }): LogoutResult {
  if (error.response) return { outcome: 'rejected', status: error.response.status };
  if (error instanceof AddressNotAllowed) return { outcome: 'address_not_allowed' };
  if ((error.cause as Error | undefined)?.name === 'TimeoutError') return { outcome: 'timeout' };
  return { outcome: 'failed', reason: typeof error.code === 'string' ? error.code : error.name };
}
