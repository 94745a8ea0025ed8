// Compacts the log: numbers a facility's changes in the order that readers see and adds them to the bins
// (totals/bins.ts).
//
// A PostgreSQL sequence cannot number the changes, because transactions do not commit in the order of their numbers. A
// reader that continues after the highest number would miss a lower number that is committed later. Changes are
// therefore committed without a number and numbered later under a lock of the facility
// (docs/decisions.md).
import { type Database, query, send, type Transaction, transaction } from '@bay-booking/service/database/database';
import { checkNotRestored, handleRestore } from './restore.ts';
import { addBins, binsOfStarts, startsOf } from './totals/bins.ts';

const lockStatement = 'select id from facility where id = $1 for no key update';
/** Returns no row if another transaction has locked the facility. */
const tryLockStatement = `${lockStatement} skip locked`;

/**
 * Numbers the changes (`numbered`), raises the facility's number (`headed`) and adds the changes to the bins. The
 * statement runs after the lock, so it sees the numbers that the previous holder of the lock has given.
 */
const compactStatement = `with unnumbered as (
  select booking_id, version, action,
    (select change_number from facility where id = $1) + row_number() over (order by booking_id, version) as number
  from booking_change where facility_id = $1 and number is null
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
  returning change.number, facility_id, change.action, before, after
), headed as (
  update facility set change_number = (select max(number) from numbered)
  where id = $1 and exists (select from numbered)
), starts as (
  ${startsOf('numbered')}
), bins as (
  ${binsOfStarts}
)
${addBins}`;

const facilitiesStatement = `select facility_id as id from booking_change where number is null
group by facility_id order by facility_id limit $1`;
/** The maximum number of facilities in one run of `compactChanges`. The next run continues. */
const maxFacilities = 1_000;

/** Only one compaction or recount of a facility runs at a time. Requests that write bookings do not wait. */
export function lockFacility(tx: Transaction, facilityId: string): void {
  send(tx, lockStatement, [facilityId]);
}

/** Numbers and counts the committed changes without a number. The transaction must have locked the facility. */
export async function compactFacility(tx: Transaction, facilityId: string): Promise<void> {
  await checkNotRestored(tx);
  send(tx, compactStatement, [facilityId]);
}

/** Numbers and counts the changes of up to 1000 facilities. */
export async function compactChanges(db: Database): Promise<void> {
  await handleRestore(db);
  for (const { id } of await query<{ id: string }>(db, facilitiesStatement, [maxFacilities])) {
    await transaction(db, async (tx) => {
      const [locked] = await query(tx, tryLockStatement, [id]);
      if (locked) await compactFacility(tx, id);
    });
  }
}
