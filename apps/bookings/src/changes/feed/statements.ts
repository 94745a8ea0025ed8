// Builds the SQL of the change feed. Statements that write run in a transaction that has already locked the facility.
import { nullList, publicFields, selectList } from '../../bookings/storage/columns.ts';

const insertFeed = `insert into booking_feed
  (facility_id, booking_id, number, first_number, version, deleted, last_state, changed_at)`;

/**
 * CTEs that assign change numbers to bookings of facility $1. A statement that contains them must first define the CTE
 * `removed`, whose rows have the form of rows of booking_change. For each booking in these rows, the latest version
 * gets the next number.
 *
 * A row with n = 1 adds the booking to the counts of bookings (table booking_count). A row with n = -1 subtracts the
 * booking, and a row with n = 0 changes no count. If the values of n of the latest version add up to less than 0, the
 * booking was deleted or has left the facility. If the booking returns to the facility, it gets a new `first_number`.
 *
 * A change of the location or of the hour has two rows with the same version: one with -1 and one with 1. Their
 * `last_state` is the same, so `(array_agg(last_state))[1]` takes the first.
 */
export const numberChanges = `latest as (
  select booking_id, version, n, last_state, rank() over (partition by booking_id order by version desc) as version_rank
  from removed
), changed as materialized (
  select booking_id, version, sum(n) < 0 as deleted, (array_agg(last_state))[1] as last_state,
    row_number() over (order by booking_id) as position
  from latest where version_rank = 1 group by booking_id, version
), listed as (
  ${insertFeed}
  select $1, booking_id, change_number + position, change_number + position, version, deleted, last_state, now()
  from changed cross join (select change_number from facility where id = $1) head
  on conflict (facility_id, booking_id) do update set number = excluded.number, version = excluded.version,
    first_number = case when booking_feed.deleted then excluded.number else booking_feed.first_number end,
    deleted = excluded.deleted, last_state = excluded.last_state, changed_at = excluded.changed_at
), numbered as (
  update facility set change_number = change_number + (select count(*) from changed)
  where id = $1 and (select count(*) from changed) > 0
)`;

// Change numbers are read as float8, because pg returns a bigint as text.
export const feedReads = {
  state: `select change_number::float8 as "changeNumber", removed_change_number::float8 as "removedNumber",
  feed_filled_to is null as "isFilled",
  exists (select from booking_change where facility_id = $1) as "hasUnnumberedChanges"
from facility where id = $1`,

  /** Returns a row for each of the facilities $1 that exists. */
  heads: `select id as "facilityId", change_number::float8 as "changeNumber",
  exists (select from booking_change where booking_change.facility_id = facility.id) as "hasUnnumberedChanges"
from facility where id = any($1)`,

  /**
   * Reads the changes of facility $1 after number $2. The first row contains all changes, and the highest change number
   * that was removed from the feed. Each other row is a booking that was changed and not deleted. A single statement
   * reads all of this, so that it comes from one snapshot of the database.
   *
   * The first row contains the changes as comma-separated lists. If each of 1000 changes were a row, the service would
   * need three times as long to read them. If the changes were a JSON array, PostgreSQL would need 1 ms longer. The
   * bookings are not joined to the changes, because PostgreSQL would then look up each booking separately, which takes
   * 5 ms longer. In the first row, the columns of a booking are null.
   */
  page: `with page as materialized (
  select number, first_number, booking_id, deleted, last_state from booking_feed
  where facility_id = $1 and number > $2::bigint order by number limit $3
)
select json_build_object('removedNumber', removed_change_number, 'numbers', numbers, 'firstNumbers', first_numbers,
  'bookingIds', booking_ids, 'deleted', deleted) as page, ${nullList(publicFields)}
from facility cross join (
  select string_agg(number::text, ',' order by number) as numbers,
    string_agg(first_number::text, ',' order by number) as first_numbers,
    string_agg(booking_id::text, ',' order by number) as booking_ids,
    json_object_agg(booking_id, last_state) filter (where deleted) as deleted
  from page
) changes where id = $1
union all
select null, ${selectList(publicFields)} from booking
where facility_id = $1 and id = any(array(select booking_id from page where not deleted))`,

  facilitiesToFill: 'select id from facility where feed_filled_to is not null order by id limit $1',

  facilitiesWithExpired: `select facility_id as id from booking_feed where deleted and changed_at < $1
group by facility_id order by facility_id limit $2`,
} as const;

export const feedWrites = {
  /**
   * Adds to the feed the next $2 of the bookings that were created before the feed existed. `feed_filled_to` becomes
   * null when fewer than $2 bookings are left. The feed is then complete.
   */
  fill: `with next as materialized (
  select id, version, row_number() over (order by id) as position from booking
  where facility_id = $1 and id > (select feed_filled_to from facility where id = $1) order by id limit $2::int
), listed as (
  ${insertFeed}
  select $1, next.id, change_number + position, change_number + position, version, false, null, now()
  from next cross join (select change_number from facility where id = $1) head
  on conflict (facility_id, booking_id) do nothing
)
update facility set change_number = change_number + (select count(*) from next),
  feed_filled_to = (select id from next where position = $2::int)
where id = $1 and feed_filled_to is not null`,

  /**
   * Gives a new change number to each booking whose entry in the feed is missing or out of date. Entries are missing or
   * out of date, for example, after an instance of an older release has changed bookings.
   */
  reconcile: `with stale as (
  select id as booking_id, version, false as deleted from booking where facility_id = $1 and not exists (
    select from booking_feed where facility_id = $1 and booking_id = booking.id
      and not deleted and booking_feed.version = booking.version
  )
  union all
  select booking_id, version + 1, true from booking_feed where facility_id = $1 and not deleted and not exists (
    select from booking where facility_id = $1 and id = booking_feed.booking_id
  )
), removed as materialized (
  select booking_id, version, case when deleted then -1 else 1 end as n, null::jsonb as last_state from stale
), ${numberChanges}
select booking_id from changed`,

  /**
   * Removes from the feed the bookings that were deleted before $2. Stores the highest change number of these bookings.
   */
  removeExpired: `with expired as (
  delete from booking_feed where facility_id = $1 and deleted and changed_at < $2 returning number
)
update facility set removed_change_number = greatest(removed_change_number, (select max(number) from expired))
where id = $1 and (select count(*) from expired) > 0`,
} as const;
