// Defines the SQL statements of the targets `bare` and `fastify`. They are like the statements of the service
// (apps/bookings/src/bookings), but without its additional features: the counts of bookings, the change feed, holds,
// opening hours and closures. $1 is a facility, or in `get` the list of the facilities of the token.

const columns =
  'id, external_booking_id, correlation_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at';
// A booking whose start equals its end occupies this instant, so its range includes the end.
const range = "tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end)";

const located = `facility_id = $1::text and location_id = $2::text and start_date >= $3::timestamptz
  and start_date <= $4::timestamptz and end_date <= $4::timestamptz`;
const upcoming = `facility_id = $1::text and bay_id = $2::text and ${range} && tstzrange($3::timestamptz, null)`;

export const statements = {
  get: `select ${columns} from booking where facility_id = any($1::text[]) and id = $2::uuid`,
  create: `insert into booking (facility_id, id, location_id, bay_id, external_booking_id, correlation_id, user_alias,
      start_date, end_date, created_at, last_updated_at, version)
    select b.facility_id, $3::uuid, b.location_id, b.id, $4::text, $5::text, $6::text,
      $7::timestamptz, $8::timestamptz, $9::timestamptz, $10::timestamptz, $11::integer
    from (
      select facility_id, location_id, id from bay where facility_id = $1 and id = $2 and bookable for no key update) b
    on conflict on constraint booking_no_overlap do nothing
    returning id`,
  // Locks the old and the new bay of a booking in the order of their ids, so that two updates cause no deadlock.
  update: `with b as materialized (
      select facility_id, location_id, id from bay
      where facility_id = $1 and id in ($3, (select bay_id from booking where facility_id = $1 and id = $2))
      order by id for no key update)
    update booking set bay_id = b.id, location_id = b.location_id, user_alias = $4, start_date = $5::timestamptz,
      end_date = $6::timestamptz, last_updated_at = $7::timestamptz, version = version + 1
    from b where booking.facility_id = $1 and booking.id = $2 and b.id = $3
    returning booking.id, external_booking_id, correlation_id, bay_id, user_alias, start_date, end_date, created_at,
      last_updated_at`,
  search: `select ${columns} from booking where ${located} order by start_date, id limit $5 offset $6`,
  searchCount: `select count(*)::int as total from booking where ${located}`,
  upcoming: `select ${columns} from booking where ${upcoming} order by start_date, id limit $4 offset $5`,
  upcomingCount: `select count(*)::int as total from booking where ${upcoming}`,
} as const;

export type Statement = keyof typeof statements;

/**
 * Reads a page and the total number of rows. For a last page that is not full, the total is the offset plus the number
 * of rows in the page. For every other page, a second query counts the rows.
 */
export async function findPage<Row extends { total?: number }>(
  run: (name: Statement, values: unknown[]) => Promise<Row[]>,
  kind: 'search' | 'upcoming',
  filter: unknown[],
  { page, size }: { page: number; size: number },
): Promise<{ rows: Row[]; total: number }> {
  const offset = (page - 1) * size;
  const rows = await run(kind, [...filter, size, offset]);
  if (rows.length < size && (rows.length > 0 || offset === 0)) return { rows, total: offset + rows.length };
  const [counted] = await run(`${kind}Count`, filter);
  return { rows, total: counted?.total ?? 0 };
}

/**
 * Selects the facility of every bay and of every location. A target runs this query once and caches the result, as the
 * service does.
 */
export const placeFacilities = 'select id, facility_id from bay union all select id, facility_id from location';
