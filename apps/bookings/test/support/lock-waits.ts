// Reports whether a transaction waits for a lock of another transaction, on a single PostgreSQL or on a Citus cluster.
import { type Database, query } from '@bay-booking/service/database/database';

export async function isDistributed(db: Database): Promise<boolean> {
  return (await query(db, "select from pg_extension where extname = 'citus'")).length > 0;
}

export async function isTransactionWaiting(db: Database): Promise<boolean> {
  const waits = (await isDistributed(db))
    ? 'select from citus_lock_waits'
    : "select from pg_locks where not granted and locktype = 'transactionid'";
  return (await query(db, waits)).length > 0;
}
