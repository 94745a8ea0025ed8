// Which rows of the people's tables have had their time? Links, trips to social providers and counts of failures that are over, and
// browsers whose session is gone. The SQL that deletes them, a bounded number at a time.
import { type Database, query } from '@bay-booking/service/database/database';

const expired = [
  ['one_time_link', "expires_at < now() - interval '1 hour'"],
  ['social_attempt', "expires_at < now() - interval '1 hour'"],
  ['guard_count', 'expire < extract(epoch from now()) * 1000'],
  [
    'browser_session',
    `seen_at < now() - interval '1 day'
      and not exists (select from oidc_artifact s where s.model = 'Session' and s.uid = browser_session.uid)`,
  ],
] as const;

export function createExpiredRowsStore({ db }: { db: Database }) {
  return {
    /** Answers how many went from the fullest table: as many as `limit` means that there may be more. */
    async cleanUp(limit = 1_000): Promise<number> {
      const counts: number[] = [];
      for (const [table, condition] of expired) {
        const rows = await query(
          db,
          `delete from ${table} where ctid = any (array(
             select ctid from ${table} where ${condition} limit $1 for update skip locked)) returning 1 as done`,
          [limit],
        );
        counts.push(rows.length);
      }
      return Math.max(...counts);
    },
  };
}
