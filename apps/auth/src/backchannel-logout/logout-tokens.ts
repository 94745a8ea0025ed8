// Queues logout tokens for clients of ended sessions and sends them (docs/behaviour-auth.md, "Back-channel logout"). A
// token is never sent again.
import type { Audit } from '../audit/audit.ts';
import type { OutboxSender } from '../outbox/outbox.ts';

/**
 * The part of an SQL statement that queues logout tokens. It belongs to the statement that ends the sessions, so that
 * each token is queued exactly once. Needs the common table expression `ended` with `account_id` and `payload` of the
 * ended sessions. A client that has no grant has seen only our sign-in page. If a client uses no `sid`, `distinct`
 * leaves one token for all sessions.
 */
export const queueLogoutTokens = `
  insert into outbox (kind, target, account_id, payload)
  select distinct 'logout-token', c.id, e.account_id, jsonb_build_object('sid',
         case when c.metadata -> 'backchannel_logout_session_required' = 'true' then a.value ->> 'sid' end)
    from ended e
   cross join jsonb_each(coalesce(nullif(e.payload -> 'authorizations', 'null'), '{}')) a
    join client c on c.id = a.key
   where c.metadata ->> 'backchannel_logout_uri' is not null and a.value ->> 'grantId' is not null`;

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
