// Deletes expired rows of four tables. The tables contain one-time links, unfinished social sign-ins, counts of
// failures and actions, and sessions of browsers.
import { type Database, query } from '@bay-booking/service/database/database';

/**
 * The tables, each with the SQL condition of its expired rows. Links and social sign-ins stop working at `expires_at`,
 * and their rows are deleted an hour later.
 */
const conditions = [
  ['one_time_link', "expires_at < now() - interval '1 hour'"],
  ['social_attempt', "expires_at < now() - interval '1 hour'"],
  // The column `expire` contains milliseconds since 1970.
  ['guard_count', 'expire < extract(epoch from now()) * 1000'],
  // A row of browser_session has expired if oidc-provider stores no session for it. Rows of the last day are not
  // deleted, because their sessions may not be stored yet.
  [
    'browser_session',
    `seen_at < now() - interval '1 day'
      and not exists (select from oidc_artifact s where s.model = 'Session' and s.uid = browser_session.uid)`,
  ],
] as const;

export function createExpiredRowsStore({ db }: { db: Database }) {
  return {
    /**
     * Deletes up to `limit` expired rows of each table. Returns the highest number of rows that were deleted from one
     * table. If this number equals `limit`, there may be more expired rows.
     */
    async cleanUp(limit = 1_000): Promise<number> {
      const counts: number[] = [];
      for (const [table, condition] of conditions) {
        // `delete` has no `limit`, so a subquery selects the rows. It skips rows that another instance is deleting.
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
