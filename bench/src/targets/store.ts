// Runs the statements of the target `fastify`: named, and sent without waiting for each other.
import pg from 'pg';
import { type BookingRow, bookingColumns, bookingResponse, bookingsResponse, deletedResponse } from './bodies.ts';
import { type Body, changeOf, hasValidTimes, newBooking, type Place, updatedBooking } from './changes.ts';
import { openings } from './hours.ts';
import type { PeerOptions } from './program.ts';
import { type Caller, HttpError } from './tokens.ts';

const columns = bookingColumns.map((column) => `booking.${column}`).join(', ');
const located = `facility_id = $1::text and location_id = $2::text and start_date >= $3::timestamptz
  and start_date <= $4::timestamptz and end_date <= $4::timestamptz`;
/** The same expression as in the index of the exclusion constraint. */
const rangeOf = (start: string, end: string) =>
  `tstzrange(${start}, ${end}, case when ${start} = ${end} then '[]' else '[)' end)`;
const range = rangeOf('start_date', 'end_date');
/** Also as in this index. */
const hash = (bay: string) => `hashtextextended(${bay}, 0)`;

const wanted = rangeOf('$3::timestamptz', '$4::timestamptz');
const ofBay = 'facility_id = $1::text and bay_id = bay.id';
const taken = `booking where ${ofBay} and ${hash('bay_id')} = ${hash('bay.id')} and ${range} && ${wanted}`;
const holds = `booking_hold where ${ofBay} and expires_at > clock_timestamp() and ${range} && ${wanted}`;
const closures = `booking_closure where facility_id = $1::text and end_date > $3::timestamptz
  and start_date <= $4::timestamptz and (location_id = bay.location_id or bay.id = any(bay_ids))
  and ${range} && ${wanted}`;
const places = `bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
  join facility on facility.id = bay.facility_id`;

const numbered = (names: readonly string[], from: number) => names.map((_name, index) => `$${index + from}`).join(', ');
const logged = (row: object, from: number) => {
  const names = Object.keys(row);
  return `with logged as (insert into booking_change (${names.join(', ')}) values (${numbered(names, from)}))`;
};
const anyBooking = newBooking({ facility_id: '', location_id: '' }, { startDate: '2000-01-01', endDate: '2000-01-01' });
const anyChange = changeOf(undefined, anyBooking, { clientId: '', subject: '', facilities: [] }, '');
const updatedColumns = 'location_id bay_id user_alias start_date end_date last_updated_at version'.split(' ');
const set = updatedColumns.map((column, index) => `${column} = $${index + 3}`).join(', ');

const statements = {
  get: `select ${columns} from booking where id = $1::uuid`,
  lockBay: 'select from bay where facility_id = $1::text and id = $2::text for no key update',
  lockBooking: `select ${columns} from booking where facility_id = $1::text and id = $2::uuid for update`,
  look: `select bay.facility_id, bay.location_id,
    exists (select from ${taken} and id is distinct from $5::uuid)
      or exists (select from ${holds}) or exists (select from ${closures})
      or not bookable or not coalesce((${openings('$3', '$4')}) @> ${wanted}, location.opening_hours is null) as "isTaken"
    from ${places} where bay.facility_id = $1::text and bay.id = $2::text and bay.removed_at is null`,
  create: `${logged(anyChange, bookingColumns.length + 1)}
    insert into booking (${bookingColumns.join(', ')}) values (${numbered(bookingColumns, 1)})`,
  refer: 'insert into booking_reference (external_booking_id, facility_id, booking_id) values ($1, $2, $3)',
  lockById: `select ${columns} from booking where id = $1::uuid for update`,
  delete: `${logged(anyChange, 3)} delete from booking where facility_id = $1 and id = $2`,
  unrefer: 'delete from booking_reference where external_booking_id = $1',
  update: `${logged(anyChange, updatedColumns.length + 3)} update booking set ${set} where facility_id = $1 and id = $2`,
  search: `select ${columns} from booking where ${located} order by start_date, id limit $5 offset $6`,
  searchCount: `select count(*)::int as total from booking where ${located}`,
} as const;

type Name = keyof typeof statements;
/** A statement that a transaction sends with its commit. */
type Write = readonly [name: Name, values: readonly unknown[]];

/** `path` contains the parameters of `query`. */
export interface ApiRequest {
  readonly caller: Caller;
  readonly requestId: string;
  readonly path: string;
  readonly id?: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** The SQLSTATE unique_violation. */
export const uniqueViolation = '23505';

/** Returns a function for each operation. */
export async function openStore({ databaseUrl, baseUrl }: PeerOptions) {
  // As many connections as the service has by default.
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 10, pipeline: true });
  // Without a listener, a lost connection would end the process.
  pool.on('error', () => {});
  const found = await pool.query('select id, facility_id from bay union all select id, facility_id from location');
  /** The facility of each bay and location, which the service caches too. */
  const facilityOf = new Map<string, string>(found.rows.map(({ id, facility_id }) => [id, facility_id]));
  const permitted = (id: string | undefined, { facilities }: Caller, status: number): string => {
    const facility = facilityOf.get(id ?? '');
    if (facility === undefined || !facilities.includes(facility)) throw new HttpError(status);
    return facility;
  };
  const run = async <Row extends pg.QueryResultRow>(
    on: pg.Pool | pg.PoolClient,
    name: Name,
    values: readonly unknown[],
  ): Promise<Row[]> => (await on.query<Row>({ name, text: statements[name], values: [...values] })).rows;

  async function find({ caller, id }: ApiRequest): Promise<BookingRow> {
    const [row] = await run<BookingRow>(pool, 'get', [id]);
    if (!row || !caller.facilities.includes(row.facility_id)) throw new HttpError(404);
    return row;
  }

  /** Runs a transaction: the statements of `work`, and then those that it returns, with the commit. */
  async function transact(
    work: (client: pg.PoolClient) => Promise<{ row: BookingRow; writes: readonly Write[] }>,
  ): Promise<BookingRow> {
    const client = await pool.connect();
    try {
      const { row, writes } = await work(client);
      await Promise.all([...writes.map(([name, values]) => run(client, name, values)), client.query('commit')]);
      return row;
    } catch (error) {
      await client.query('rollback');
      throw (error as { code?: string }).code === uniqueViolation ? new HttpError(400) : error;
    } finally {
      client.release();
    }
  }

  /** Locks the bay, looks, and writes what `decide` returns. Throws an HttpError if the time is taken. */
  async function write(
    { caller, body }: ApiRequest,
    existing: BookingRow | undefined,
    decide: (place: Place, locked: BookingRow | undefined) => { row: BookingRow; writes: readonly Write[] },
  ): Promise<BookingRow> {
    if (!hasValidTimes(body)) throw new HttpError(400);
    const facilityId = permitted(body.bayId, caller, 400);
    return transact(async (client) => {
      const [, , [locked], [place]] = await Promise.all([
        client.query('begin'),
        run(client, 'lockBay', [facilityId, body.bayId]),
        existing ? run<BookingRow>(client, 'lockBooking', [facilityId, existing.id]) : [],
        run<Place & { isTaken: boolean }>(client, 'look', [
          facilityId,
          body.bayId,
          body.startDate,
          body.endDate,
          existing?.id,
        ]),
      ]);
      if (existing && !locked) throw new HttpError(404);
      if (!place || place.isTaken) throw new HttpError(400);
      return decide(place, locked);
    });
  }

  return {
    get: async (request: ApiRequest) => bookingResponse(await find(request), baseUrl, 'read'),
    create: async (request: ApiRequest) => {
      const created = await write(request, undefined, (place) => {
        const row = newBooking(place, request.body);
        const change = Object.values(changeOf(undefined, row, request.caller, request.requestId));
        const writes: Write[] = [['create', [...valuesOf(row, bookingColumns), ...change]]];
        const { external_booking_id: externalId, facility_id, id } = row;
        if (externalId !== null) writes.push(['refer', [externalId, facility_id, id]]);
        return { row, writes };
      });
      return bookingResponse(created, baseUrl, 'created');
    },
    update: async (request: ApiRequest) => {
      const updated = await write(request, await find(request), (place, locked) => {
        const before = locked as BookingRow;
        const row = updatedBooking(before, place, request.body);
        const change = Object.values(changeOf(before, row, request.caller, request.requestId));
        return {
          row,
          writes: [['update', [row.facility_id, row.id, ...valuesOf(row, updatedColumns), ...change]]],
        };
      });
      return bookingResponse(updated, baseUrl, 'updated');
    },
    delete: async ({ caller, requestId, id }: ApiRequest) => {
      await transact(async (client) => {
        const [, [row]] = await Promise.all([client.query('begin'), run<BookingRow>(client, 'lockById', [id])]);
        if (!row || !caller.facilities.includes(row.facility_id)) throw new HttpError(404);
        const change = Object.values(changeOf(row, undefined, caller, requestId));
        const writes: Write[] = [['delete', [row.facility_id, row.id, ...change]]];
        if (row.external_booking_id !== null) writes.push(['unrefer', [row.external_booking_id]]);
        return { row, writes };
      });
      return deletedResponse;
    },
    /** Counts the rows only if the page is full, because the total is otherwise known. */
    search: async ({ caller, query, path }: ApiRequest) => {
      const { locationIds, startDate, endDate, page: number = '1', pageSize = '50' } = query;
      const filter = [permitted(locationIds, caller, 404), locationIds, startDate, endDate];
      const [page, size] = [Number(number), Number(pageSize)];
      const offset = (page - 1) * size;
      const items = await run<BookingRow>(pool, 'search', [...filter, size, offset]);
      const isLast = items.length < size && (items.length > 0 || offset === 0);
      const [counted] = isLast ? [] : await run<{ total: number }>(pool, 'searchCount', filter);
      const total = counted?.total ?? offset + items.length;
      return bookingsResponse({ items, total, page, size }, baseUrl, path);
    },
  };
}

const valuesOf = (row: BookingRow, names: readonly string[]): unknown[] =>
  names.map((name) => row[name as keyof BookingRow]);
