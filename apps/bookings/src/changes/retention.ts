// Removes changes after their retention periods, first from the feed and later from the history.
import { type Database, query, send, transaction } from '@bay-booking/service/database/database';
import { lockFacility } from './compaction.ts';

/** The maximum number of facilities in one run. The next run continues. */
const maxFacilities = 1_000;

/** Deletions that are still in the feed, which reads only the latest change of each booking. */
const deleted = 'at < $1 and latest and after is null';
/** Changes that have left the feed. */
const superseded = 'at < $1 and number is not null and not latest';
const facilitiesWith = (expired: string): string =>
  `select facility_id as id from booking_change where ${expired} group by facility_id order by facility_id limit $2`;
const statements = {
  facilitiesWithDeleted: facilitiesWith(deleted),
  facilitiesWithSuperseded: facilitiesWith(superseded),
  removeFromFeed: `with removed as (
  update booking_change set latest = false where facility_id = $2 and ${deleted} returning number
)
update facility set removed_change_number = greatest(removed_change_number, (select max(number) from removed))
where id = $2`,
  /**
   * Together with a change, the earlier changes of the booking are removed, even if the clock of another instance gave
   * them a later time.
   */
  remove: `delete from booking_change change using (
  select booking_id, max(version) as version from booking_change where facility_id = $2 and ${superseded}
  group by booking_id
) last where change.facility_id = $2 and change.booking_id = last.booking_id and change.version <= last.version`,
};

/** Removes deletions before `before` from the feed, in up to 1000 facilities. */
export function removeFromFeed(db: Database, before: Date): Promise<void> {
  return forFacilities(db, before, statements.facilitiesWithDeleted, statements.removeFromFeed);
}

/** Removes changes before `before` that are no longer in the feed, in up to 1000 facilities. */
export function removeExpiredChanges(db: Database, before: Date): Promise<void> {
  return forFacilities(db, before, statements.facilitiesWithSuperseded, statements.remove);
}

async function forFacilities(db: Database, before: Date, find: string, remove: string): Promise<void> {
  const at = before.toISOString();
  for (const { id } of await query<{ id: string }>(db, find, [at, maxFacilities])) {
    await transaction(db, async (tx) => {
      lockFacility(tx, id);
      send(tx, remove, [at, id]);
    });
  }
}
