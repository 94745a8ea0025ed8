// Serves the Bookings API with Express, knex and ajv, as most teams write it: one statement after the other.
import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import express, { type NextFunction, type Request, type Response } from 'express';
import knex, { type Knex } from 'knex';
import {
  availabilityResponse,
  type BookingRow,
  bookingColumns,
  bookingResponse,
  bookingsResponse,
  commonHeaders,
  type FreeBay,
  type Sent,
} from './bodies.ts';
import { type Body, changeOf, hasValidTimes, newBooking, updatedBooking } from './changes.ts';
import { jsonOfRanges, openings } from './hours.ts';
import { observe } from './observe.ts';
import { endWithParent, programOptions } from './program.ts';
import { bodySchema } from './schemas.ts';
import { uniqueViolation } from './store.ts';
import { type Caller, createVerifier, HttpError } from './tokens.ts';

const options = programOptions();
const { baseUrl } = options;
const db = knex({ client: 'pg', connection: options.databaseUrl, pool: { min: 0, max: 10 } });
const verify = await createVerifier(options);
const ajv = new Ajv({ allErrors: true });
addFormats.default(ajv);
const isValidBody = ajv.compile(bodySchema);
const send = (response: Response, { status, headers, body }: Sent) =>
  void response.status(status).set(headers).json(body);

const app = express();
app.disable('x-powered-by');
// The responses set the ETag themselves.
app.disable('etag');
app.get('/ready', (_request, response) => void response.json({}));
app.use((request, response, next) => {
  const requestId = randomUUID();
  response.locals.requestId = requestId;
  observe(request, response, () => ({ requestId, route: request.route?.path, caller: response.locals.caller }));
  response.set(commonHeaders).set('X-Request-Id', requestId);
  response.locals.caller = verify(request.get('authorization'));
  next();
});
app.use(express.json());

app.get('/api/bookings/:id', async (request, response) => {
  const { facilities }: Caller = response.locals.caller;
  const row = await db('booking').whereIn('facility_id', facilities).where({ id: request.params.id }).first();
  if (!row) throw new HttpError(404);
  send(response, bookingResponse(row, baseUrl, 'read'));
});

type Range = readonly [start: number, end: number];
interface PlaceRow extends Omit<FreeBay, 'free'> {
  readonly openings: readonly Range[] | null;
}

interface ClosureRow extends Pick<BookingRow, 'start_date' | 'end_date'> {
  readonly location_id: string | null;
  readonly bay_ids: readonly string[] | null;
}
type Times = readonly [start: string, end: string];

const selectPlaces = (on: Knex, caller: Caller, times: Times): Knex.QueryBuilder =>
  on('bay')
    .join('location', { 'location.facility_id': 'bay.facility_id', 'location.id': 'bay.location_id' })
    .join('facility', 'facility.id', 'bay.facility_id')
    .whereIn('bay.facility_id', caller.facilities)
    .whereNull('bay.removed_at')
    .select('bay.id', 'bay.name', 'bookable', 'bay.location_id', 'location.name as location_name', 'bay.facility_id')
    .select('time_zone', db.raw(`${jsonOfRanges(openings('?', '?'))} as openings`, [...times]));

/** Selects the rows that overlap the times. Both ends of instants count, as in the index of the constraint. */
const overlapping = (on: Knex, table: string, [start, end]: Times): Knex.QueryBuilder =>
  on(table).whereRaw(
    `tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end)
      && tstzrange(:start, :end, case when :start = :end::timestamptz then '[]' else '[)' end)`,
    { start, end },
  );
const ofPlace = (rows: Knex.QueryBuilder, { location_id, id }: PlaceRow): Knex.QueryBuilder =>
  rows.where((either) => either.where({ location_id }).orWhereRaw('? = any(bay_ids)', [id]));

/** Locks the bay and returns it. Throws an HttpError if the bay cannot be booked at the times of the body. */
async function lockAndLook(trx: Knex.Transaction, caller: Caller, body: Body, bookingId: string | undefined) {
  const { bayId = '', startDate = '', endDate = '' } = body;
  const times = [startDate, endDate] as const;
  await trx('bay').whereIn('facility_id', caller.facilities).where({ id: bayId }).forNoKeyUpdate().first('id');
  const place: PlaceRow | undefined = await selectPlaces(trx, caller, times).where({ 'bay.id': bayId }).first();
  if (!place?.bookable) throw new HttpError(400);
  const { facility_id } = place;
  const bookings = overlapping(trx, 'booking', times).where({ facility_id, bay_id: bayId });
  const others = bookingId === undefined ? bookings : bookings.whereNot({ id: bookingId });
  if (await others.first('id')) throw new HttpError(400);
  const holds = overlapping(trx, 'booking_hold', times).where({ facility_id, bay_id: bayId });
  if (await holds.where('expires_at', '>', new Date()).first('id')) throw new HttpError(400);
  const closures = overlapping(trx, 'booking_closure', times).where({ facility_id });
  if (await ofPlace(closures, place).first('id')) throw new HttpError(400);
  const [start, end] = times.map((time) => Date.parse(time)) as [number, number];
  const isOpen = place.openings?.some(([opens, closes]) => opens <= start && end <= closes) ?? true;
  if (!isOpen) throw new HttpError(400);
  return place;
}

/** Creates a booking, or updates the booking `id`. */
async function write({ body }: Request, response: Response, id?: string): Promise<void> {
  const { caller, requestId } = response.locals as { caller: Caller; requestId: string };
  if (!isValidBody(body) || !hasValidTimes(body as Body)) throw new HttpError(400);
  const row = await db.transaction(async (trx) => {
    const place = await lockAndLook(trx, caller, body, id);
    const { facility_id } = place;
    if (id === undefined) {
      const created = newBooking(place, body);
      await trx('booking').insert(created);
      const { external_booking_id } = created;
      if (external_booking_id !== null)
        await trx('booking_reference').insert({ external_booking_id, facility_id, booking_id: created.id });
      await trx('booking_change').insert(changeOf(undefined, created, caller, requestId));
      return created;
    }
    const before: BookingRow | undefined = await trx('booking')
      .where({ facility_id, id })
      .forUpdate()
      .first(bookingColumns);
    if (!before) throw new HttpError(404);
    const after = updatedBooking(before, place, body);
    await trx('booking').where({ facility_id, id }).update(after);
    await trx('booking_change').insert(changeOf(before, after, caller, requestId));
    return after;
  });
  send(response, bookingResponse(row, baseUrl, id === undefined ? 'created' : 'updated'));
}
app.post('/api/bookings', (request, response) => write(request, response));
app.put('/api/bookings/:id', (request, response) => write(request, response, request.params.id));

app.get('/api/bookings', async (request, response) => {
  const { locationIds, startDate, endDate } = request.query as Record<string, string>;
  const query = db('booking')
    .whereIn('facility_id', response.locals.caller.facilities)
    .whereIn('location_id', [locationIds ?? ''])
    .where('start_date', '>=', startDate ?? '')
    .where('end_date', '<=', endDate ?? '');
  await sendList(request, response, query, 50);
});

app.get('/api/bays/:id/upcoming-bookings', async (request, response) => {
  const query = db('booking')
    .whereIn('facility_id', response.locals.caller.facilities)
    .where({ bay_id: request.params.id })
    .where('end_date', '>', new Date());
  await sendList(request, response, query, 10);
});

async function sendList(request: Request, response: Response, query: Knex.QueryBuilder, defaultSize: number) {
  const size = Number(request.query.pageSize ?? defaultSize);
  const page = Number(request.query.page ?? 1);
  const [count] = await query.clone().count({ total: '*' });
  const items: BookingRow[] = await query
    .select(bookingColumns)
    .orderBy(['start_date', 'id'])
    .limit(size)
    .offset((page - 1) * size);
  send(response, bookingsResponse({ items, total: Number(count.total), page, size }, baseUrl, request.originalUrl));
}

app.get('/api/booking-availability', async (request, response) => {
  const { locationIds, startDate = '', endDate = '' } = request.query as Record<string, string>;
  const asOf = new Date();
  const from = Math.max(Date.parse(startDate), asOf.getTime());
  const times = [new Date(from).toISOString(), endDate] as const;
  const places: PlaceRow[] = await selectPlaces(db, response.locals.caller, times)
    .where({ 'bay.location_id': locationIds })
    .orderBy('bay.name_order');
  const bay_ids = places.map(({ id }) => id);
  const facilities = [...new Set(places.map(({ facility_id }) => facility_id))];
  const ofBays = (table: string) =>
    overlapping(db, table, times).whereIn('facility_id', facilities).whereIn('bay_id', bay_ids);
  const bookings = await ofBays('booking').select('bay_id', 'start_date', 'end_date');
  const holds = await ofBays('booking_hold').where('expires_at', '>', asOf).select('bay_id', 'start_date', 'end_date');
  const closures: ClosureRow[] = await overlapping(db, 'booking_closure', times)
    .whereIn('facility_id', facilities)
    .select();
  const items = places.map((place) => {
    const taken = [...bookings, ...holds].filter(({ bay_id }) => bay_id === place.id);
    const closed = closures.filter(
      ({ location_id, bay_ids }) => location_id === place.location_id || bay_ids?.includes(place.id),
    );
    return { ...place, free: place.bookable ? gapsOf(place, from, Date.parse(endDate), [...taken, ...closed]) : [] };
  });
  send(
    response,
    availabilityResponse({ items, total: items.length, page: 1, size: 200 }, asOf, baseUrl, request.originalUrl),
  );
});

function gapsOf(
  { openings }: PlaceRow,
  from: number,
  to: number,
  taken: readonly Pick<BookingRow, 'start_date' | 'end_date'>[],
): Range[] {
  let free: Range[] = (openings ?? [[from, to]]).map(([start, end]) => [Math.max(start, from), Math.min(end, to)]);
  for (const { start_date, end_date } of taken) {
    const [start, end] = [start_date.getTime(), end_date.getTime()];
    free = free.flatMap((gap): Range[] => [
      [gap[0], Math.min(gap[1], start)],
      [Math.max(gap[0], end), gap[1]],
    ]);
  }
  return free.filter(([start, end]) => start < end).sort(([a], [b]) => a - b);
}

app.use(
  (error: Error & { statusCode?: number; code?: string }, _: Request, response: Response, _next: NextFunction) => {
    response.status(error.code === uniqueViolation ? 400 : (error.statusCode ?? 500)).json({ errors: [] });
  },
);
app.listen(options.port);
endWithParent();
