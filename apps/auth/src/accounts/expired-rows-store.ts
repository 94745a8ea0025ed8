// Deletes expired one-time links, unfinished social sign-ins, counts of failures, and sessions of browsers.
import { type Database, query } from '@bay-booking/service/database/database';

const conditions = [
  ['one_time_link', "expires_at < now() - interval '1 hour'"],
  ['social_attempt', "expires_at < now() - interval '1 hour'"],
  // The column `expire` contains milliseconds since 1970.
  ['guard_count', 'expire < extract(epoch from now()) * 1000'],
  // The session of a new row may not be stored yet.
  [
    'browser_session',
    `seen_at < now() - interval '1 day'
      and not exists (select from oidc_artifact s where s.model = 'Session' and s.uid = browser_session.uid)`,
  ],
] as const;

export function createExpiredRowsStore({ db }: { db: Database }) {
  return {
    /** Deletes up to `limit` rows of each table. Returns the highest number of rows that one table has lost. */
    async cleanUp(limit = 1_000): Promise<number> {
      const counts: number[] = [];
      for (const [table, condition] of conditions) {
        // `delete` has no `limit`. The subquery skips rows that another instance is deleting.
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
