// Removes changes after the retention period: changes that a later change of the booking has superseded, and deletions.
import { type Database, query, send, transaction } from '@bay-booking/service/database/database';
import { lockFacility } from './compaction.ts';

/** The maximum number of facilities in one run. The next run continues. */
const maxFacilities = 1_000;

const expired = "at < $1 and number is not null and (not latest or action = 'deleted')";
const facilitiesStatement = `select facility_id as id from booking_change where ${expired}
group by facility_id order by facility_id limit $2`;

/**
 * Together with a change, the earlier changes of the booking are removed, even if the clock of another instance gave
 * them a later time.
 */
const removeStatement = `with expired as materialized (
  select booking_id, version, number, latest and action = 'deleted' as is_deletion from booking_change
  where facility_id = $2 and ${expired}
), removed as (
  delete from booking_change change using (
    select booking_id, max(version) as version from expired group by booking_id
  ) last where change.facility_id = $2 and change.booking_id = last.booking_id and change.version <= last.version
)
update facility set removed_change_number =
  greatest(removed_change_number, (select max(number) from expired where is_deletion))
where id = $2`;

/** Removes the changes before `before`, in up to 1000 facilities. */
export async function removeExpiredChanges(db: Database, before: Date): Promise<void> {
  const at = before.toISOString();
  for (const { id } of await query<{ id: string }>(db, facilitiesStatement, [at, maxFacilities])) {
    await transaction(db, async (tx) => {
      lockFacility(tx, id);
      send(tx, removeStatement, [at, id]);
    });
  }
}
