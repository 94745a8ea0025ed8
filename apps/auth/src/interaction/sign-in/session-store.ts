// Reads and ends the sessions of an account. A session is a row of `browser_session` and an artifact of oidc-provider.
// `queueLogoutTokens` reads the ended sessions from the common table expression `ended`.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { forgetFailures } from '../../guard/failures-store.ts';
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

/** The models of codes and stored tokens, as a list in SQL. */
const codesAndTokens = "'AuthorizationCode', 'RefreshToken', 'AccessToken', 'DeviceCode'";

export type SessionStore = ReturnType<typeof createSessionStore>;

/** `sendLogoutTokens` starts to send the queued logout tokens, and does not wait until they are sent. */
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

    /**
     * Deletes all sessions, grants, codes and stored tokens of the account. A trigger revokes its JWTs. If there is a
     * `keptSession` (its `uid`), that session stays, and with `keepClientAccess` also the grants, codes and tokens that
     * clients got in it. Otherwise `emptied` removes the list of clients (`authorizations`) from the session.
     */
    async endEverything(
      accountId: string,
      { keptSession, keepClientAccess = false }: { keptSession?: string; keepClientAccess?: boolean } = {},
    ): Promise<void> {
      await query(
        db,
        `with kept_grant as (
           select a.value ->> 'grantId' as grant_id
             from oidc_artifact s, jsonb_each(coalesce(s.payload -> 'authorizations', '{}')) a
            where s.model = 'Session' and s.account_id = $1 and s.uid = $2 and $3),
         sessions as (delete from browser_session where account_id = $1 and uid is distinct from $2),
         pending as (delete from pending_sign_in where account_id = $1),
         deleted as (
           delete from oidc_artifact t where t.account_id = $1
              and (t.model = 'Session' and t.uid is distinct from $2
                or t.model = 'Grant' and not exists (select from kept_grant k where k.grant_id = t.payload ->> 'jti')
                or t.model in (${codesAndTokens})
                   and not exists (select from kept_grant k where k.grant_id = t.grant_id))
           returning model, account_id, payload),
         kept_session as (
           select id, account_id, payload from oidc_artifact
            where model = 'Session' and account_id = $1 and uid = $2 and not $3 for update),
         emptied as (
           update oidc_artifact s set payload = s.payload - 'authorizations'
             from kept_session k where s.model = 'Session' and s.id = k.id),
         ended as (
           select account_id, payload from deleted where model = 'Session'
           union all select account_id, payload from kept_session)
         ${queueLogoutTokens}`,
        [accountId, keptSession, keepClientAccess],
      );
      sendLogoutTokens();
    },

    /** Deletes only the row in `browser_session`. The session of oidc-provider must have ended already. */
    async delete(uid: string): Promise<void> {
      await query(db, 'delete from browser_session where uid = $1', [uid]);
    },
  };
}

/** Ends what somebody got with the earlier password, and the links with which it could be replaced again. */
export async function endAccess(
  tx: Queryable,
  { id, username }: { readonly id: string; readonly username: string },
  { newPassword }: { readonly newPassword: boolean },
): Promise<void> {
  // The running instances of auth send the logout tokens that `endEverything` queues.
  await createSessionStore({ db: tx, sendLogoutTokens: () => {} }).endEverything(id);
  if (!newPassword) return;
  await query(tx, "delete from one_time_link where account_id = $1 and purpose = 'reset-password'", [id]);
  await forgetFailures(tx, username);
}
