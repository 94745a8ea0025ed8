// Recognises a database that was restored from a backup. Readers may already have seen its next change numbers.
//
// The feed then continues with the time in milliseconds, which is higher than all earlier numbers. Clients must read
// the feed from its beginning (410), because the restored database may lack changes that they have read.
import {
  type Database,
  markAsUnavailable,
  type Queryable,
  queryOne,
  send,
  transaction,
} from '@bay-booking/service/database/database';

/** A restore or promotion begins a new timeline, and pg_restore on another server changes the system identifier. */
const currentValue = `(select system_identifier from pg_control_system()) || '/' ||
  left(pg_walfile_name(pg_current_wal_lsn()), 8)`;
const isRestoredStatement = `select value <> ${currentValue} as "isRestored" from database_identity`;
/** Another instance that has found the restore waits for this lock. */
const lockStatement = `select (extract(epoch from clock_timestamp()) * 1000)::bigint as number
from database_identity for update`;
const raiseNumbers = `update facility set change_number = greatest(change_number + 1, $1::bigint),
  removed_change_number = greatest(change_number + 1, $1::bigint)`;
const storeIdentity = `update database_identity set value = ${currentValue}, first_number = $1`;

async function isRestored(on: Queryable): Promise<boolean> {
  return (await queryOne<{ isRestored: boolean }>(on, isRestoredStatement))?.isRestored === true;
}

/** Raises the change numbers of all facilities if the database was restored. */
export async function handleRestore(db: Database): Promise<void> {
  if (!(await isRestored(db))) return;
  await transaction(db, async (tx) => {
    const row = await queryOne<{ number: string }>(tx, lockStatement);
    if (!(await isRestored(tx))) return;
    send(tx, raiseNumbers, [row?.number]);
    send(tx, storeIdentity, [row?.number]);
  });
}

/** @throws {Error} if the database was restored since `handleRestore` was called */
export async function checkNotRestored(on: Queryable): Promise<void> {
  if (!(await isRestored(on))) return;
  const error = new Error('the database was restored a moment ago');
  markAsUnavailable(error);
  throw error;
}
