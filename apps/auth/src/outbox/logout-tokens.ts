// Sends logout tokens to clients of ended sessions (docs/behaviour-auth.md, "Back-channel logout").
// A token is never sent again.
import type { Audit } from '../audit/audit.ts';
import type { OutboxSender } from './outbox.ts';

/** The outcome `not_registered` means that the client is disabled, deleted or has no logout URL any more. */
const logoutOutcomes = [
  'sent',
  'rejected',
  'address_not_allowed',
  'timeout',
  'failed',
  'not_registered',
  'expired',
] as const;

export interface LogoutResult {
  readonly outcome: (typeof logoutOutcomes)[number];
  readonly status?: number;
  /** The error code of a failed connection, such as `ECONNREFUSED`. */
  readonly reason?: string | undefined;
}

export interface QueuedLogout {
  readonly clientId: string;
  readonly accountId: string;
  readonly sid: string | null;
}

export type SendLogoutToken = (logout: QueuedLogout) => Promise<LogoutResult>;

/** After an hour, the user has probably signed in again. A token that has no `sid` would end the new session too. */
const maxAgeSeconds = 3_600;

export const createLogoutTokenSender = (
  audit: Pick<Audit, 'record'>,
  send: SendLogoutToken,
  isReady: () => boolean,
): OutboxSender => ({
  results: logoutOutcomes,
  isRepeatable: false,
  isReady,
  send: async ({ target: clientId, accountId, payload, ageSeconds }) => {
    const logout = { clientId, accountId: accountId ?? '', sid: (payload as QueuedLogout).sid };
    const result: LogoutResult = ageSeconds > maxAgeSeconds ? { outcome: 'expired' } : await send(logout);
    const kind = result.outcome === 'sent' ? 'logout-token.sent' : 'logout-token.failed';
    audit.record({ kind, clientId, accountId: logout.accountId, detail: { ...result } });
    return { result: result.outcome };
  },
});
