// Reads and ends the sessions of an account. A session is a row of `browser_session` and an artifact of oidc-provider.
// `queueLogoutTokens` reads the ended sessions from the common table expression `ended`.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { isLiveSession } from '../../oidc/storage/sessions.ts';
import { queueLogoutTokens } from '../../outbox/store.ts';

export interface SessionRow {
  /** The identifier of the session in oidc-provider. It is not the secret id in the cookie. */
  readonly uid: string;
  readonly userAgent: string | null;
  readonly address: string | null;
  readonly signedInAt: Date;
  readonly seenAt: Date;
}

export type SessionStore = ReturnType<typeof createSessionStore>;

/** `sendLogoutTokens` starts to send the queued logout tokens and does not wait until they are sent. */
export function createSessionStore({ db, sendLogoutTokens }: { db: Queryable; sendLogoutTokens: () => void }) {
  return {
    findByAccount: (accountId: string): Promise<readonly SessionRow[]> =>
      query<SessionRow>(
        db,
        `select b.uid, b.user_agent as "userAgent", b.address, b.signed_in_at as "signedInAt", b.seen_at as "seenAt"
           from browser_session b join oidc_artifact s on s.uid = b.uid and s.account_id = b.account_id
          where b.account_id = $1 and ${isLiveSession} order by b.seen_at desc limit 100`,
        [accountId],
      ),

    /** Ends one session of the account, or all sessions except one. Returns the number of ended sessions. */
    async end(accountId: string, sessions: { uid: string } | { allExcept: string }): Promise<number> {
      const endsOneSession = 'uid' in sessions;
      const rows = await query(
        db,
        `with ended as (
           delete from oidc_artifact where model = 'Session' and account_id = $1
              and ${endsOneSession ? 'uid = $2' : 'uid is distinct from $2'} returning uid, account_id, payload),
         queued as (${queueLogoutTokens})
         delete from browser_session b using ended where b.uid = ended.uid returning b.uid`,
        [accountId, endsOneSession ? sessions.uid : sessions.allExcept],
      );
      sendLogoutTokens();
      return rows.length;
    },

    /** Deletes only the row in `browser_session`. The session of oidc-provider must have ended already. */
    async delete(uid: string): Promise<void> {
      await query(db, 'delete from browser_session where uid = $1', [uid]);
    },
  };
}
