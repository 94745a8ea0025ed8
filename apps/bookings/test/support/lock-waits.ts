// Reports whether a transaction waits for another transaction, and whether the tests run on a Citus cluster.
import { type Database, query } from '@bay-booking/service/database/database';

export async function isDistributed(db: Database): Promise<boolean> {
  return (await query(db, "select from pg_extension where extname = 'citus'")).length > 0;
}

export async function isTransactionWaiting(db: Database): Promise<boolean> {
  // To wait for the lock of a row, PostgreSQL waits for the id of the transaction that has locked the row.
  const findWaits = (await isDistributed(db))
    ? 'select from citus_lock_waits'
    : "select from pg_locks where not granted and locktype = 'transactionid'";
  return (await query(db, findWaits)).length > 0;
}
