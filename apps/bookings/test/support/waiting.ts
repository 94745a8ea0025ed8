// Does a transaction wait for another one's lock? Seen at the server, or over all servers that the tables are spread on.
import { type Database, query } from '@bay-booking/service/database/database';

export async function isSpread(db: Database): Promise<boolean> {
  return (await query(db, "select from pg_extension where extname = 'citus'")).length > 0;
}

export async function somebodyWaits(db: Database): Promise<boolean> {
  const waiting = (await isSpread(db))
    ? 'select from citus_lock_waits'
    : "select from pg_locks where not granted and locktype = 'transactionid'";
  return (await query(db, waiting)).length > 0;
}
