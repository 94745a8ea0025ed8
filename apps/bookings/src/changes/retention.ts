// Removes changes after their retention periods, first from the feed and later from the history.
import { type Database, query, send, transaction } from '@bay-booking/service/database/database';
import { lockFacility } from '../database/locks.ts';

/** The maximum number of changes of a facility in one run, which processes the facilities of the oldest changes. */
const defaultBatchSize = 2_000;

/** Deletions that are still in the feed, which reads only the latest change of each booking. */
const deleted = 'at < $1 and latest and after is null';
/** Changes that have left the feed. */
const superseded = 'at < $1 and number is not null and not latest';
const facilitiesWith = (expired: string): string =>
  `select distinct facility_id as id from (
  select facility_id from booking_change where ${expired} order by at limit $2
) oldest order by id`;
const statements = {
  facilitiesWithDeleted: facilitiesWith(deleted),
  facilitiesWithSuperseded: facilitiesWith(superseded),
  removeFromFeed: `with expired as (
  select booking_id, version from booking_change where facility_id = $3 and ${deleted} order by at limit $2
), removed as (
  update booking_change change set latest = false from expired
  where facility_id = $3 and change.booking_id = expired.booking_id and change.version = expired.version
  returning number
)
update facility set removed_change_number = greatest(removed_change_number, (select max(number) from removed))
where id = $3`,
  /**
   * Together with a change, the earlier changes of the booking are removed, even if the clock of another instance gave
   * them a later time.
   */
  remove: `with expired as (
  select booking_id, version from booking_change where facility_id = $3 and ${superseded} order by at limit $2
)
delete from booking_change change using (
  select booking_id, max(version) as version from expired group by booking_id
) last where change.facility_id = $3 and change.booking_id = last.booking_id and change.version <= last.version`,
};

/** Removes deletions before `before` from the feed, a batch in some facilities. Returns whether there may be more. */
export function removeFromFeed(db: Database, before: Date, batchSize?: number): Promise<boolean> {
  return forFacilities(db, before, statements.facilitiesWithDeleted, statements.removeFromFeed, batchSize);
}

/** Removes changes before `before` that are no longer in the feed, in the same way. */
export function removeExpiredChanges(db: Database, before: Date, batchSize?: number): Promise<boolean> {
  return forFacilities(db, before, statements.facilitiesWithSuperseded, statements.remove, batchSize);
}

async function forFacilities(db: Database, before: Date, find: string, remove: string, batchSize = defaultBatchSize) {
  const values = [before.toISOString(), batchSize];
  const facilities = await query<{ id: string }>(db, find, values);
  for (const { id } of facilities) {
    await transaction(db, async (tx) => {
      lockFacility(tx, id);
      send(tx, remove, [...values, id]);
    });
  }
  return facilities.length > 0;
}
