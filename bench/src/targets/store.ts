// Runs the statements of the targets `bare` and `fastify`, which neither lock bays, count bookings nor log changes.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { type BookingRow, bookingColumns, type Page } from './bodies.ts';

const columns = bookingColumns.map((column) => `booking.${column}`).join(', ');
const located = `facility_id = $1::text and location_id = $2::text and start_date >= $3::timestamptz
  and start_date <= $4::timestamptz and end_date <= $4::timestamptz`;
// The same expression as in the index of the exclusion constraint.
const range = "tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end)";
const upcoming = `facility_id = $1::text and bay_id = $2::text and ${range} && tstzrange($3::timestamptz, null)`;

const statements = {
  get: `select ${columns} from booking where facility_id = any($1::text[]) and id = $2::uuid`,
  create: `insert into booking (facility_id, id, location_id, bay_id, external_booking_id, correlation_id, user_alias,
      start_date, end_date, created_at, last_updated_at)
    select facility_id, $3::uuid, location_id, id, $4::text, $5::text, $6::text, $7::timestamptz, $8::timestamptz,
      $9::timestamptz, $9::timestamptz
    from bay where facility_id = $1 and id = $2 and bookable
    on conflict on constraint booking_no_overlap do nothing
    returning ${columns}`,
  update: `update booking set bay_id = bay.id, location_id = bay.location_id, user_alias = $4,
      start_date = $5::timestamptz, end_date = $6::timestamptz, last_updated_at = $7::timestamptz, version = version + 1
    from bay where booking.facility_id = $1 and booking.id = $2 and bay.facility_id = $1 and bay.id = $3
    returning ${columns}`,
  search: `select ${columns} from booking where ${located} order by start_date, id limit $5 offset $6`,
  searchCount: `select count(*)::int as total from booking where ${located}`,
  upcoming: `select ${columns} from booking where ${upcoming} order by start_date, id limit $4 offset $5`,
  upcomingCount: `select count(*)::int as total from booking where ${upcoming}`,
} as const;

type Parameter = 'locationIds' | 'startDate' | 'endDate' | 'page' | 'pageSize';
export type ListQuery = Readonly<Partial<Record<Parameter, string>>>;
export type Body = Readonly<Record<string, string>>;

export async function openStore(databaseUrl: string) {
  // As many connections as the service has by default.
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
  // Without a listener, a lost connection would end the process.
  pool.on('error', () => {});
  const places = await pool.query('select id, facility_id from bay union all select id, facility_id from location');
  /** The facility of each bay and location, which the service caches too. */
  const facilityOf = new Map<string, string>(places.rows.map(({ id, facility_id }) => [id, facility_id]));
  /** No facility has the id '', so with it every statement finds nothing. */
  const permitted = (id: string | undefined, facilities: readonly string[]): string => {
    const facility = facilityOf.get(id ?? '') ?? '';
    return facilities.includes(facility) ? facility : '';
  };
  const run = async <Row extends pg.QueryResultRow>(name: keyof typeof statements, values: unknown[]): Promise<Row[]> =>
    (await pool.query<Row>({ name, text: statements[name], values })).rows;
  const first = async (name: keyof typeof statements, values: unknown[]): Promise<BookingRow | undefined> =>
    (await run<BookingRow>(name, values))[0];

  /** Counts the rows only if the page is full, because the total is otherwise known. */
  async function findPage(kind: 'search' | 'upcoming', filter: unknown[], page: number, size: number): Promise<Page> {
    const offset = (page - 1) * size;
    const rows = await run<BookingRow>(kind, [...filter, size, offset]);
    const isLast = rows.length < size && (rows.length > 0 || offset === 0);
    const [counted] = isLast ? [] : await run<{ total: number }>(`${kind}Count`, filter);
    return { rows, total: counted?.total ?? offset + rows.length, page, size };
  }

  return {
    get: (facilities: readonly string[], id: string) => first('get', [facilities, id]),
    create: (facilities: readonly string[], body: Body) => {
      const { bayId, externalBookingId, correlationId, userAlias, startDate, endDate } = body;
      const texts = [permitted(bayId, facilities), bayId, randomUUID(), externalBookingId, correlationId, userAlias];
      return first('create', [...texts, startDate, endDate, new Date().toISOString()]);
    },
    update: (facilities: readonly string[], id: string, { bayId, userAlias, startDate, endDate }: Body) => {
      const now = new Date().toISOString();
      return first('update', [permitted(bayId, facilities), id, bayId, userAlias, startDate, endDate, now]);
    },
    search: (facilities: readonly string[], query: ListQuery) => {
      const { locationIds, startDate, endDate, page = '1', pageSize = '50' } = query;
      const filter = [permitted(locationIds, facilities), locationIds, startDate, endDate];
      return findPage('search', filter, Number(page), Number(pageSize));
    },
    upcoming: (facilities: readonly string[], bayId: string, { page = '1', pageSize = '10' }: ListQuery) => {
      const filter = [permitted(bayId, facilities), bayId, new Date().toISOString()];
      return findPage('upcoming', filter, Number(page), Number(pageSize));
    },
  };
}
