// Compacts the log: numbers a facility's changes in the order that readers see.
//
// A PostgreSQL sequence cannot number the changes, because transactions do not commit in the order of their numbers. A
// reader that continues after the highest number would miss a lower number that is committed later. Changes are
// therefore committed without a number and numbered later under a lock of the facility
// (docs/decisions.md).
import {
  type Database,
  query,
  queryOne,
  send,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import { checkNotRestored, handleRestore } from './restore.ts';

/** Returns no row if another transaction has locked the facility (database/locks.ts). */
const tryLockStatement = 'select id from facility where id = $1 for no key update skip locked';

/**
 * The maximum number of changes that one transaction numbers, which takes 0.1 s. After bookings were changed outside
 * the service, there may be millions, more than fit into the time limit of a statement.
 */
const defaultBatchSize = 2_000;

/**
 * Numbers up to `batchSize` changes (`numbered`) and raises the facility's number (`headed`). The statement runs after
 * the lock, so it sees the numbers that the previous holder of the lock has given. `batchSize` is not a parameter,
 * because the plan depends on it.
 */
const compactStatement = (batchSize: number): string => `with unnumbered as (
  select booking_id, version, action,
    (select change_number from facility where id = $1) + row_number() over (order by booking_id, version) as number
  from booking_change where facility_id = $1 and number is null order by booking_id, version limit ${batchSize}
), pending as materialized (
  select booking_id, version, number,
    max(number) filter (where action = 'created') over (partition by booking_id order by version) as created_number,
    version = max(version) over (partition by booking_id) as latest
  from unnumbered
), superseded as (
  update booking_change set latest = false
  where facility_id = $1 and latest and booking_id in (select booking_id from pending where version > 1)
  returning booking_id, first_number
), numbered as (
  update booking_change change set number = pending.number, latest = pending.latest,
    first_number = coalesce(created_number, superseded.first_number, pending.number)
  from pending left join superseded on superseded.booking_id = pending.booking_id
  where change.facility_id = $1 and change.booking_id = pending.booking_id and change.version = pending.version
  returning change.number
), headed as (
  update facility set change_number = (select max(number) from numbered)
  where id = $1 and exists (select from numbered)
)
select count(*)::int as changes from numbered`;

/**
 * After some runs, PostgreSQL keeps the plan of a prepared statement. A plan for a small log compares each change of
 * the batch with each change of the facility, which takes 20 s after 6,000 changes from outside the service.
 */
const planEachRun = 'set local plan_cache_mode = force_custom_plan';

const facilitiesStatement = `select facility_id as id from booking_change where number is null
group by facility_id order by facility_id limit $1`;
/** The maximum number of facilities in one run of `compactChanges`, and of batches of a facility. */
const maxFacilities = 1_000;
const maxBatches = 10;

/**
 * Numbers a batch of the committed changes without a number. Returns whether there may be more. The
 * transaction must have locked the facility.
 */
export async function compactFacility(tx: Transaction, facilityId: string, batchSize = defaultBatchSize) {
  await checkNotRestored(tx);
  send(tx, planEachRun);
  const batch = await queryOne<{ changes: number }>(tx, compactStatement(batchSize), [facilityId]);
  return batch?.changes === batchSize;
}

/** Numbers changes, up to some batches in up to 1000 facilities. Returns whether there may be more. */
export async function compactChanges(db: Database, batchSize = defaultBatchSize): Promise<boolean> {
  await handleRestore(db);
  const facilities = await query<{ id: string }>(db, facilitiesStatement, [maxFacilities]);
  let hasMore = facilities.length === maxFacilities;
  for (const { id } of facilities) {
    let isFull = true;
    for (let batch = 0; isFull && batch < maxBatches; batch += 1)
      isFull = await transaction(db, async (tx) => {
        const locked = await queryOne(tx, tryLockStatement, [id]);
        return locked !== undefined && (await compactFacility(tx, id, batchSize));
      });
    hasMore ||= isFull;
  }
  return hasMore;
}
