// Gives the changes of a facility their numbers, which are the order in which readers see the changes.
//
// A sequence of PostgreSQL cannot number the changes, because transactions do not commit in the order in which they
// take numbers from it. A reader that continues after the highest number it has seen would miss a lower number that is
// committed later. Changes are therefore committed without a number, and numbered later under a lock of the facility
// (docs/decisions/0008-log-of-changes.md).
import { send, type Transaction } from '@bay-booking/service/database/database';

const lockStatement = 'select id from facility where id = $1 for no key update';

/** A statement that runs after the lock sees the numbers that the previous owner of the lock has given. */
const numberStatement = `with unnumbered as (
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
  where facility_id = $1 and latest and booking_id in (select booking_id from pending)
  returning booking_id, first_number
), numbered as (
  update booking_change change set number = pending.number, latest = pending.latest,
    first_number = coalesce(created_number, superseded.first_number, pending.number)
  from pending left join superseded on superseded.booking_id = pending.booking_id
  where change.facility_id = $1 and change.booking_id = pending.booking_id and change.version = pending.version
  returning change.number
)
update facility set change_number = (select max(number) from numbered)
where id = $1 and exists (select from numbered)`;

/** Compaction, numbering and recounting of a facility run one at a time. Requests that write bookings do not wait. */
export function lockFacility(tx: Transaction, facilityId: string): void {
  send(tx, lockStatement, [facilityId]);
}

/** Numbers the committed changes that have no number. The transaction must have locked the facility. */
export function numberChanges(tx: Transaction, facilityId: string): void {
  send(tx, numberStatement, [facilityId]);
}
