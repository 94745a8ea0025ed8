// Serves the Bookings API with Express, knex and ajv, and verifies every token with jsonwebtoken and jwks-rsa.
import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import express, { type Request, type Response } from 'express';
import jwt from 'jsonwebtoken';
import jwksRsa from 'jwks-rsa';
import knex from 'knex';
import { type BookingRow, bookingBody, bookingColumns, listBody } from './bodies.ts';
import { type Claims, endWithParent, programOptions } from './program.ts';
import { bodySchema } from './schemas.ts';

const options = programOptions();
const { baseUrl } = options;
const db = knex({ client: 'pg', connection: options.databaseUrl, pool: { min: 0, max: 10 } });
const jwks = jwksRsa({ jwksUri: options.jwksUri, cache: true });
const ajv = new Ajv({ allErrors: true });
addFormats.default(ajv);
const isValidBody = ajv.compile(bodySchema);
const refuse = (response: Response, status: number) => void response.status(status).json({ errors: [] });

const app = express();
app.get('/ready', (_request, response) => void response.json({}));
app.use(express.json());
app.use((request, response, next) => {
  jwt.verify(
    request.get('authorization')?.slice('Bearer '.length) ?? '',
    (header, done) => {
      jwks.getSigningKey(header.kid).then((key) => done(null, key.getPublicKey()), done);
    },
    { algorithms: ['ES256'], issuer: options.issuer, audience: options.audience },
    (error, claims) => {
      if (error) return refuse(response, 401);
      const { scope, facilities } = claims as unknown as Claims;
      if (!scope.split(' ').includes(options.scope)) return refuse(response, 403);
      response.locals.facilities = facilities;
      next();
    },
  );
});

app.get('/api/bookings/:id', async (request, response) => {
  const row: BookingRow | undefined = await db('booking')
    .whereIn('facility_id', response.locals.facilities)
    .where({ id: request.params.id })
    .first(bookingColumns);
  if (row) response.json(bookingBody(row, baseUrl));
  else refuse(response, 404);
});

/** Returns the bookingColumns of a booking that a request writes, or undefined if the request is not valid. */
async function readBooking({ body }: Request, response: Response) {
  if (!isValidBody(body)) return undefined;
  const bay = await db('bay').whereIn('facility_id', response.locals.facilities).where({ id: body.bayId }).first();
  if (!bay?.bookable) return undefined;
  return {
    facility_id: bay.facility_id as string,
    location_id: bay.location_id as string,
    bay_id: bay.id as string,
    user_alias: body.userAlias as string,
    start_date: body.startDate as string,
    end_date: body.endDate as string,
    last_updated_at: new Date(),
  };
}

app.post('/api/bookings', async (request, response) => {
  const booking = await readBooking(request, response);
  if (!booking) return refuse(response, 400);
  const { externalBookingId, correlationId } = request.body;
  const [row] = await db('booking')
    .insert({
      ...booking,
      id: randomUUID(),
      external_booking_id: externalBookingId,
      correlation_id: correlationId,
      created_at: booking.last_updated_at,
    })
    .returning(bookingColumns);
  response.status(201).json(bookingBody(row, baseUrl));
});

app.put('/api/bookings/:id', async (request, response) => {
  const booking = await readBooking(request, response);
  if (!booking) return refuse(response, 400);
  const { facility_id, ...changes } = booking;
  const [row] = await db('booking')
    .where({ facility_id, id: request.params.id })
    .update(changes)
    .returning(bookingColumns);
  if (row) response.json(bookingBody(row, baseUrl));
  else refuse(response, 404);
});

app.get('/api/bookings', async (request, response) => {
  const { locationIds, startDate, endDate } = request.query as Record<string, string>;
  const query = db('booking')
    .whereIn('facility_id', response.locals.facilities)
    .whereIn('location_id', [locationIds ?? ''])
    .where('start_date', '>=', startDate ?? '')
    .where('end_date', '<=', endDate ?? '');
  await sendList(request, response, query, 50);
});

app.get('/api/bays/:id/upcoming-bookings', async (request, response) => {
  const query = db('booking')
    .whereIn('facility_id', response.locals.facilities)
    .where({ bay_id: request.params.id })
    .where('end_date', '>', new Date());
  await sendList(request, response, query, 10);
});

async function sendList(request: Request, response: Response, query: knex.Knex.QueryBuilder, defaultSize: number) {
  const size = Number(request.query.pageSize ?? defaultSize);
  const page = Number(request.query.page ?? 1);
  const [count] = await query.clone().count({ total: '*' });
  const rows: BookingRow[] = await query
    .select(bookingColumns)
    .orderBy(['start_date', 'id'])
    .limit(size)
    .offset((page - 1) * size);
  response.json(listBody({ rows, total: Number(count.total), page, size }, baseUrl, request.originalUrl));
}

app.listen(options.port);
endWithParent();
