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
  deletedResponse,
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
function send(response: Response, { status, headers, body }: Sent): void {
  response.status(status).set(headers);
  if (body === undefined) response.end();
  else response.json(body);
}

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
/** A booking or a hold of a bay, or a closure of bays or of a location. */
interface TakenRow extends Pick<BookingRow, 'start_date' | 'end_date'> {
  readonly bay_id?: string;
  readonly bay_ids?: readonly string[] | null;
  readonly location_id?: string | null;
}
type Times = readonly [start: string, end: string];

const findPlaces = (on: Knex, caller: Caller, times: Times, filter: object): Promise<PlaceRow[]> =>
  on('bay')
    .join('location', { 'location.facility_id': 'bay.facility_id', 'location.id': 'bay.location_id' })
    .join('facility', 'facility.id', 'bay.facility_id')
    .whereIn('bay.facility_id', caller.facilities)
    .where({ ...filter, 'bay.removed_at': null })
    .select('bay.id', 'bay.name', 'bookable', 'bay.location_id', 'location.name as location_name', 'bay.facility_id')
    .select('time_zone', db.raw(`${jsonOfRanges(openings('?', '?'))} as openings`, [...times]))
    .orderBy('bay.name_order');

/** Finds everything that takes time of the bays, apart from the booking `exceptId`. */
async function findTaken(
  on: Knex,
  places: readonly PlaceRow[],
  [start, end]: Times,
  exceptId = '',
): Promise<TakenRow[]> {
  const ofFacilities = (table: string) =>
    on(table)
      .whereIn('facility_id', [...new Set(places.map(({ facility_id }) => facility_id))])
      // Both ends of instants count, as in the index of the constraint.
      .whereRaw(
        `tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end)
          && tstzrange(:start, :end, case when :start = :end::timestamptz then '[]' else '[)' end)`,
        { start, end },
      );
  const ofBays = (table: string) => {
    const bayIds = places.map(({ id }) => id);
    return ofFacilities(table).whereIn('bay_id', bayIds).select('id', 'bay_id', 'start_date', 'end_date');
  };
  const bookings = await ofBays('booking').whereRaw(
    'hashtextextended(bay_id, 0) = any(array(select hashtextextended(id, 0) from unnest(?::text[]) id))',
    [places.map(({ id }) => id)],
  );
  const holds = await ofBays('booking_hold').where('expires_at', '>', new Date());
  const closures = await ofFacilities('booking_closure').select('bay_ids', 'location_id', 'start_date', 'end_date');
  return [...bookings.filter(({ id }) => id !== exceptId), ...holds, ...closures];
}

function gapsOf({ id, location_id, openings }: PlaceRow, [start, end]: Range, taken: readonly TakenRow[]): Range[] {
  let gaps = (openings ?? [[start, end]]).map(([from, to]): Range => [Math.max(from, start), Math.min(to, end)]);
  for (const { bay_id, bay_ids, location_id: location, start_date, end_date } of taken) {
    if (bay_id !== id && location !== location_id && !bay_ids?.includes(id)) continue;
    gaps = gaps.flatMap(([from, to]): Range[] => [
      [from, Math.min(to, start_date.getTime())],
      [Math.max(from, end_date.getTime()), to],
    ]);
  }
  return gaps.filter(([from, to]) => from < to).sort(([a], [b]) => a - b);
}

/** Locks the bay and returns it. Throws an HttpError if the bay cannot be booked at the times of the body. */
async function lockAndLook(trx: Knex.Transaction, caller: Caller, body: Body, bookingId: string | undefined) {
  const { bayId = '', startDate = '', endDate = '' } = body;
  const [start, end] = [Date.parse(startDate), Date.parse(endDate)];
  await trx('bay').whereIn('facility_id', caller.facilities).where({ id: bayId }).forNoKeyUpdate().first('id');
  const [place] = await findPlaces(trx, caller, [startDate, endDate], { 'bay.id': bayId });
  if (!place?.bookable) throw new HttpError(400);
  const [gap] = gapsOf(place, [start, end], await findTaken(trx, [place], [startDate, endDate], bookingId));
  if (gap?.[0] !== start || gap[1] !== end) throw new HttpError(400);
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

app.delete('/api/bookings/:id', async ({ params: { id } }, response) => {
  const { caller, requestId } = response.locals as { caller: Caller; requestId: string };
  await db.transaction(async (trx) => {
    const ofCaller = () => trx('booking').whereIn('facility_id', caller.facilities).where({ id });
    const before: BookingRow | undefined = await ofCaller().forUpdate().first(bookingColumns);
    if (!before) throw new HttpError(404);
    await ofCaller().delete();
    const { external_booking_id } = before;
    if (external_booking_id !== null) await trx('booking_reference').where({ external_booking_id }).delete();
    await trx('booking_change').insert(changeOf(before, undefined, caller, requestId));
  });
  send(response, deletedResponse);
});

app.get('/api/bookings', async ({ query: parameters, originalUrl }, response) => {
  const {
    locationIds = '',
    startDate = '',
    endDate = '',
    page: number,
    pageSize,
  } = parameters as Record<string, string>;
  const [page, size] = [Number(number ?? 1), Number(pageSize ?? 50)];
  const query = db('booking')
    .whereIn('facility_id', response.locals.caller.facilities)
    .whereIn('location_id', [locationIds])
    .where('start_date', '>=', startDate)
    .where('end_date', '<=', endDate);
  const [count] = await query.clone().count({ total: '*' });
  const items: BookingRow[] = await query
    .select(bookingColumns)
    .orderBy(['start_date', 'id'])
    .limit(size)
    .offset((page - 1) * size);
  send(response, bookingsResponse({ items, total: Number(count?.total), page, size }, baseUrl, originalUrl));
});

app.get('/api/booking-availability', async ({ query, originalUrl }, response) => {
  const { locationIds, startDate = '', endDate = '' } = query as Record<string, string>;
  const asOf = new Date();
  const start = Math.max(Date.parse(startDate), asOf.getTime());
  const times = [new Date(start).toISOString(), endDate] as const;
  const places = await findPlaces(db, response.locals.caller, times, { 'bay.location_id': locationIds });
  const taken = await findTaken(db, places, times);
  const freeOf = (place: PlaceRow) => (place.bookable ? gapsOf(place, [start, Date.parse(endDate)], taken) : []);
  const items = places.map((place) => ({ ...place, free: freeOf(place) }));
  const page = { items, total: items.length, page: 1, size: 200 };
  send(response, availabilityResponse(page, asOf, baseUrl, originalUrl));
});

app.use(
  (error: Error & { statusCode?: number; code?: string }, _: Request, response: Response, _next: NextFunction) => {
    response.status(error.code === uniqueViolation ? 400 : (error.statusCode ?? 500)).json({ errors: [] });
  },
);
app.listen(options.port);
endWithParent();
