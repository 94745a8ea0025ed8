// Deletes old audit events. Only the database role that owns the table can delete events. The service's role can insert
// and read them.
import { type Database, query } from '@bay-booking/service/database/database';

/** The maximum number of rows per statement, so that no statement runs for long. */
const batchSize = 5_000;

/** Returns the number of deleted events. */
export async function deleteOldEvents(db: Database, days: number): Promise<number> {
  for (let total = 0; ; ) {
    const rows = await query(
      db,
      `delete from audit_event where id = any (array(
         select id from audit_event where at < now() - make_interval(days => $1) order by id limit $2)) returning 1`,
      [days, batchSize],
    );
    total += rows.length;
    if (rows.length < batchSize) return total;
  }
}
