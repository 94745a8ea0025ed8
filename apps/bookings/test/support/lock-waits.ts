// Reports whether a transaction waits for another transaction, and whether the tests run on a Citus cluster.
import { type Database, query } from '@bay-booking/service/database/database';

export async function isDistributed(db: Database): Promise<boolean> {
  return (await query(db, "select from pg_extension where extname = 'citus'")).length > 0;
}

export async function isTransactionWaiting(db: Database): Promise<boolean> {
  // A transaction that waits for a locked row has, in pg_locks, a lock of the type `transactionid` that is not granted.
  // Other tests use other databases of the same server.
  const findWaits = (await isDistributed(db))
    ? 'select from citus_lock_waits'
    : `select from pg_locks join pg_stat_activity using (pid)
       where not granted and locktype = 'transactionid' and datname = current_database()`;
  return (await query(db, findWaits)).length > 0;
}
