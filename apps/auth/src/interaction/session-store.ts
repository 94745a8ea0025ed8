// On which browsers is an account signed in? The SQL of browser_session beside the provider's sessions, for their owner to see and end.
import { type Database, query } from '@bay-booking/service/database/database';

export interface SessionRow {
  readonly uid: string;
  readonly userAgent: string | null;
  readonly address: string | null;
  readonly signedInAt: Date;
  readonly seenAt: Date;
}

export type SessionStore = ReturnType<typeof createSessionStore>;

/** A use is written down once a minute. */
const seenEvery = '1 minute';

export function createSessionStore({ db }: { db: Database }) {
  return {
    async signedIn(row: {
      uid: string;
      accountId: string;
      userAgent: string | undefined;
      address: string | undefined;
    }): Promise<void> {
      await query(
        db,
        `insert into browser_session (uid, account_id, user_agent, address) values ($1, $2, $3, $4)
         on conflict (uid) do update set account_id = excluded.account_id, user_agent = excluded.user_agent,
           address = excluded.address, signed_in_at = now(), seen_at = now()`,
        [row.uid, row.accountId, row.userAgent?.slice(0, 400) ?? null, row.address ?? null],
      );
    },

    /** When it was seen before, in seconds since 1970. Being idle ends by signing in again, not by coming back: `idle` in seconds. */
    async seen({
      uid,
      accountId,
      idle,
    }: {
      uid: string;
      accountId: string;
      idle: number;
    }): Promise<number | undefined> {
      const [row] = await query<{ seenAt: number }>(
        db,
        `with before as (select seen_at from browser_session where uid = $1 and account_id = $2),
              noted as (update browser_session set seen_at = now()
                         where uid = $1 and account_id = $2 and seen_at < now() - interval '${seenEvery}'
                           and seen_at >= now() - make_interval(secs => $3))
         select extract(epoch from seen_at)::float8 as "seenAt" from before`,
        [uid, accountId, idle],
      );
      return row?.seenAt;
    },

    listOf: (accountId: string): Promise<readonly SessionRow[]> =>
      query<SessionRow>(
        db,
        `select b.uid, b.user_agent as "userAgent", b.address, b.signed_in_at as "signedInAt", b.seen_at as "seenAt"
           from browser_session b join oidc_artifact s on s.model = 'Session' and s.uid = b.uid
          where b.account_id = $1 and s.account_id = $1 and s.expires_at > now() order by b.seen_at desc limit 100`,
        [accountId],
      ),

    /** Ends sessions: the one named, or all but it. Answers how many. */
    async end(accountId: string, which: { uid: string } | { allBut: string | undefined }): Promise<number> {
      const one = 'uid' in which;
      const rows = await query(
        db,
        `with ended as (
           delete from oidc_artifact where model = 'Session' and account_id = $1
              and ${one ? 'uid = $2' : 'uid is distinct from $2'} returning uid)
         delete from browser_session b using ended where b.uid = ended.uid returning b.uid`,
        [accountId, one ? which.uid : (which.allBut ?? null)],
      );
      return rows.length;
    },

    /** Every session, grant, code and token of the account: after this nothing that was issued before is good but JWTs till they expire. */
    async endEverything(accountId: string): Promise<void> {
      await query(
        db,
        `with sessions as (delete from browser_session where account_id = $1)
         delete from oidc_artifact where account_id = $1
            and model in ('Session', 'Grant', 'AuthorizationCode', 'RefreshToken', 'AccessToken', 'DeviceCode')`,
        [accountId],
      );
    },

    async forget(uid: string): Promise<void> {
      await query(db, 'delete from browser_session where uid = $1', [uid]);
    },
  };
}
