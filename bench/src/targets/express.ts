// Serves the Bookings API with Express, knex and ajv, as most teams write it: one statement after the other.
import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import express, { type NextFunction, type Request, type Response } from 'express';
import knex, { type Knex } from 'knex';
import {
  type BookingRow,
  bookingColumns,
  bookingResponse,
  bookingsResponse,
  commonHeaders,
  deletedResponse,
  type Sent,
} from './bodies.ts';
import { type Body, changeOf, hasValidTimes, newBooking, updatedBooking } from './changes.ts';
import { openings } from './hours.ts';
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

/** Locks the bay and returns it. Throws an HttpError if the bay cannot be booked at the times of the body. */
async function lockAndLook(trx: Knex.Transaction, caller: Caller, body: Body, bookingId: string | undefined) {
  const { bayId = '', startDate = '', endDate = '' } = body;
  await trx('bay').whereIn('facility_id', caller.facilities).where({ id: bayId }).forNoKeyUpdate().first('id');
  const times = [startDate, endDate];
  const isOpen = `coalesce((${openings('?', '?')}) @> tstzrange(?, ?), location.opening_hours is null) as is_open`;
  const place = await trx('bay')
    .join('location', { 'location.facility_id': 'bay.facility_id', 'location.id': 'bay.location_id' })
    .join('facility', 'facility.id', 'bay.facility_id')
    .whereIn('bay.facility_id', caller.facilities)
    .where({ 'bay.id': bayId, 'bay.removed_at': null, bookable: true })
    .first('bay.facility_id', 'bay.location_id', db.raw(isOpen, [...times, ...times]));
  if (!place?.is_open) throw new HttpError(400);
  const { facility_id, location_id } = place;
  const overlapping = (table: string) =>
    trx(table)
      .where({ facility_id })
      // Both ends of instants count, as in the index of the constraint.
      .whereRaw(
        `tstzrange(start_date, end_date, case when start_date = end_date then '[]' else '[)' end)
          && tstzrange(?, ?, case when ? = ?::timestamptz then '[]' else '[)' end)`,
        [...times, ...times],
      );
  const taken = [
    ...(await overlapping('booking')
      .whereRaw('bay_id = ? and hashtextextended(bay_id, 0) = hashtextextended(?, 0)', [bayId, bayId])
      .select('id')),
    ...(await overlapping('booking_hold').where({ bay_id: bayId }).where('expires_at', '>', new Date()).select('id')),
    ...(await overlapping('booking_closure')
      .whereRaw('(location_id = ? or ? = any(bay_ids))', [location_id, bayId])
      .select('id')),
  ];
  if (taken.some(({ id }) => id !== bookingId)) throw new HttpError(400);
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
  const { locationIds = '', startDate = '', endDate = '', ...rest } = parameters as Record<string, string>;
  const [page, size] = [Number(rest.page ?? 1), Number(rest.pageSize ?? 50)];
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

app.use(
  (error: Error & { statusCode?: number; code?: string }, _: Request, response: Response, _next: NextFunction) => {
    response.status(error.code === uniqueViolation ? 400 : (error.statusCode ?? 500)).json({ errors: [] });
  },
);
app.listen(options.port);
endWithParent();
