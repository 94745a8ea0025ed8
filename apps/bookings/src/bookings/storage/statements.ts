// Which SQL changes bookings? Every statement names one facility, or touches a table that no facility owns (booking_reference,
// idempotency_key) by its key, so that the same text runs on one PostgreSQL or on many. Read only by the stores and by the test that
// holds them to that.

/** Verbatim that of the constraint booking_no_overlap, whose index then serves every search by time. */
export const bookedRange = "tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end)";

export const bookingColumns =
  'facility_id, id, external_booking_id, correlation_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at, version';

/** Verbatim as `booking_change` keeps it: the hour of a start, counted from 1970. */
export const hourOf = (column: string): string => `date_bin('1 hour', ${column}, timestamptz '1970-01-01 00:00Z')`;

const changeColumns = '(facility_id, booking_id, version, n, location_id, hour)';
const columnsOf = (table: string): string => bookingColumns.replace(/\w+/g, `${table}.$&`);
const returned = columnsOf('booking');
// Of immutable functions only, as a change on a spread table must be: a time in UTC is no matter of the session's zone, a cast none either.
const milliseconds = "(extract(epoch from booking.last_updated_at at time zone 'UTC') * 1000)::bigint";
const tag = `(booking.version::text || '-' || ${milliseconds}::text)`;

export const reads = {
  find: `select ${bookingColumns} from booking where facility_id = any($1) and id = $2::uuid`,

  /** Why a bay cannot be had for an interval: not there, not bookable, taken by another booking than $5. */
  obstacles: `select bookable, $3::timestamptz is not null and exists (
  select from booking where facility_id = $1 and bay_id = $2 and id is distinct from $5::uuid
  and ${bookedRange} && tstzrange($3::timestamptz, $4::timestamptz, case when $3::timestamptz = $4::timestamptz then '[]' else '[)' end)
) as taken from bay where facility_id = $1 and id = $2`,

  referenceOf: 'select booking_id from booking_reference where external_booking_id = $1',

  /** Whether tables may be spread over several nodes (docs/operations/scale.md). */
  isSpread: "select to_regclass('pg_dist_partition') is not null as flag",

  answerOf:
    'select request_hash, facility_id, answer from idempotency_key where id = $1 and created_at > $2::timestamptz',

  oldAnswers: 'select id from idempotency_key where created_at <= $1::timestamptz limit $2',
} as const;

const countedIn = (source: string): string => `insert into booking_change ${changeColumns}
select facility_id, id, version, 1, location_id, ${hourOf('start_date')} from ${source}`;

/** Proves the bay, takes its lock and books it: whoever else wants this bay waits here, so that nobody can wait in a circle. */
const book = `insert into booking (facility_id, id, location_id, bay_id, external_booking_id, correlation_id, user_alias,
    start_date, end_date, created_at, last_updated_at, version)
  select b.facility_id, $3::uuid, b.location_id, b.id, $4::text, $5::text, $6::text,
    $7::timestamptz, $8::timestamptz, $9::timestamptz, $10::timestamptz, $11::integer
  from (select facility_id, location_id, id from bay where facility_id = $1 and id = $2 and bookable for no key update) b
  on conflict on constraint booking_no_overlap do nothing
  returning facility_id, id, version, location_id, start_date`;

/** Locks the old and the new bay in the order of their ids, then the row, whose old start is counted out as the new one is counted in. */
const changing = `locked as materialized (
  select facility_id, id, location_id, bookable from bay
  where facility_id = $1 and id in ($3, (select bay_id from booking where facility_id = $1 and id = $2::uuid))
  order by id for no key update
), old as materialized (
  select id, location_id, ${hourOf('start_date')} as hour from booking
  where facility_id = $1 and id = $2::uuid and (select count(*) from locked) > 0 for no key update
), changed as (
  update booking set bay_id = locked.id, location_id = locked.location_id, user_alias = $4,
    start_date = $5::timestamptz, end_date = $6::timestamptz,
    last_updated_at = greatest(booking.last_updated_at, $7::timestamptz), version = booking.version + 1
  from locked, old
  where booking.facility_id = $1 and booking.id = $2::uuid and old.id = booking.id and locked.id = $3 and locked.bookable
  and ($8::text[] is null or ${tag} = any($8))
  returning ${returned}, booking.location_id, ${hourOf('booking.start_date')} as hour
)`;

const removing = `delete from booking where facility_id = $1 and id = $2::uuid and ($3::text[] is null or ${tag} = any($3))
  returning ${returned}, booking.location_id, ${hourOf('booking.start_date')} as hour`;

export const writes = {
  /** Books and counts. */
  create: `with booked as (
  ${book}
)
${countedIn('booked')}
returning booking_id as id`,

  /** The same in two, within a transaction: Citus would carry what one statement has written to the coordinator before it goes on. */
  book,
  count: `${countedIn('booking')} where facility_id = $1 and id = $2::uuid and version = $3`,

  update: `with ${changing}, counted as (
  insert into booking_change ${changeColumns}
  select changed.facility_id, changed.id, changed.version, change.n,
    case when change.n < 0 then old.location_id else changed.location_id end,
    case when change.n < 0 then old.hour else changed.hour end
  from changed cross join old cross join (values (-1), (1)) change (n)
  where old.location_id <> changed.location_id or old.hour <> changed.hour
)
select ${bookingColumns} from changed`,

  remove: `with removed as (
  ${removing}
), counted as (
  insert into booking_change ${changeColumns}
  select facility_id, id, version + 1, -1, location_id, hour from removed
)
select ${bookingColumns} from removed`,

  /** The same without counting, which then is `countChange`'s: a statement that writes two tables is taken apart by Citus. */
  change: `with ${changing}
select ${columnsOf('changed')}, changed.location_id, changed.hour, old.location_id as old_location_id, old.hour as old_hour
from changed cross join old`,

  takeOut: removing,

  countChange: `insert into booking_change ${changeColumns} values ($1, $2::uuid, $3, $4, $5, $6::timestamptz)`,

  lockBays: 'select id, bookable from bay where facility_id = $1 and id = any($2) order by id for no key update',

  createReference: `insert into booking_reference (external_booking_id, facility_id, booking_id) values ($1, $2, $3::uuid)
on conflict (external_booking_id) do nothing returning booking_id`,

  moveReference:
    'update booking_reference set facility_id = $3 where external_booking_id = $1 and booking_id = $2::uuid returning booking_id',

  removeReference:
    'delete from booking_reference where external_booking_id = $1 and booking_id = $2::uuid returning booking_id',

  /** An answer older than $6 counts as forgotten. */
  keepAnswer: `insert into idempotency_key (id, request_hash, facility_id, answer, created_at)
values ($1, $2, $3, $4, $5::timestamptz)
on conflict (id) do update set request_hash = excluded.request_hash, facility_id = excluded.facility_id,
  answer = excluded.answer, created_at = excluded.created_at
where idempotency_key.created_at <= $6::timestamptz
returning id`,

  forgetAnswers: 'delete from idempotency_key where id = any($1) and created_at <= $2::timestamptz returning id',
} as const;

export const countReads = {
  isComplete: 'select complete as flag from booking_count_state where id = 1',

  /** What has the most to fold comes first. */
  changed:
    'select facility_id as id from booking_change group by facility_id order by count(*) desc, facility_id limit $1',

  facilities: 'select id from facility order by id',
} as const;
