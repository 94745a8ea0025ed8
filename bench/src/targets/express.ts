// Serves the Bookings API with Express and knex, so that the benchmark can compare the service with this server. The
// server uses the libraries as their documentation describes: the query builder of knex, ajv for validation, and
// jsonwebtoken with jwks-rsa, which verify the token of every request.
import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import express, { type NextFunction, type Request, type Response } from 'express';
import jwt from 'jsonwebtoken';
import jwksRsa from 'jwks-rsa';
import knex from 'knex';
import { type BookingRow, bookingResource, listResource } from './response-bodies.ts';
import { bodySchema } from './schemas.ts';
import { endWithParent, peerOptions } from './start.ts';
import type { Claims } from './verify.ts';

const options = peerOptions();
const { baseUrl } = options;
const db = knex({ client: 'pg', connection: options.databaseUrl, pool: { min: 0, max: 10 } });
const jwks = jwksRsa({ jwksUri: options.jwksUri, cache: true });
const ajv = new Ajv({ allErrors: true });
addFormats.default(ajv);
const isValidBody = ajv.compile(bodySchema);
/** A single booking has the links edit and delete. A booking in a list does not have them. */
const withEditLinks = true;
const withoutEditLinks = false;
const columns = [
  'id',
  'external_booking_id',
  'correlation_id',
  'bay_id',
  'user_alias',
  'start_date',
  'end_date',
  'created_at',
  'last_updated_at',
];

// The benchmark does not compare error responses, so their lists of errors are empty.
const app = express();
app.get('/ready', (_request, response) => void response.json({}));
app.use(express.json());
app.use((request: Request, response: Response, next: NextFunction) => {
  const token = request.get('authorization')?.slice('Bearer '.length) ?? '';
  jwt.verify(
    token,
    (header, done) => {
      jwks.getSigningKey(header.kid).then((key) => done(null, key.getPublicKey()), done);
    },
    { algorithms: ['ES256'], issuer: options.issuer, audience: options.audience },
    (error, claims) => {
      if (error) return void response.status(401).json({ errors: [] });
      const { scope, facilities } = claims as unknown as Claims;
      if (!scope.split(' ').includes(options.scope)) return void response.status(403).json({ errors: [] });
      response.locals.facilities = facilities;
      next();
    },
  );
});

app.get('/api/bookings/:id', async (request, response) => {
  const row: BookingRow | undefined = await db('booking')
    .whereIn('facility_id', response.locals.facilities)
    .where({ id: request.params.id })
    .first(columns);
  if (row) response.json(bookingResource(row, baseUrl, withEditLinks));
  else response.status(404).json({ errors: [] });
});

app.post('/api/bookings', async (request, response) => {
  if (!isValidBody(request.body)) return void response.status(400).json({ errors: [] });
  const { body } = request;
  const bay = await db('bay').whereIn('facility_id', response.locals.facilities).where({ id: body.bayId }).first();
  if (!bay?.bookable) return void response.status(400).json({ errors: [] });
  const now = new Date();
  const [row] = await db('booking')
    .insert({
      facility_id: bay.facility_id,
      id: randomUUID(),
      location_id: bay.location_id,
      bay_id: bay.id,
      external_booking_id: body.externalBookingId,
      correlation_id: body.correlationId,
      user_alias: body.userAlias,
      start_date: body.startDate,
      end_date: body.endDate,
      created_at: now,
      last_updated_at: now,
    })
    .returning(columns);
  response.status(201).json(bookingResource(row, baseUrl, withEditLinks));
});

app.put('/api/bookings/:id', async (request, response) => {
  if (!isValidBody(request.body)) return void response.status(400).json({ errors: [] });
  const { body } = request;
  const bay = await db('bay').whereIn('facility_id', response.locals.facilities).where({ id: body.bayId }).first();
  if (!bay?.bookable) return void response.status(400).json({ errors: [] });
  const [row] = await db('booking')
    .where({ facility_id: bay.facility_id, id: request.params.id })
    .update({
      location_id: bay.location_id,
      bay_id: bay.id,
      user_alias: body.userAlias,
      start_date: body.startDate,
      end_date: body.endDate,
      last_updated_at: new Date(),
    })
    .returning(columns);
  if (row) response.json(bookingResource(row, baseUrl, withEditLinks));
  else response.status(404).json({ errors: [] });
});

app.get('/api/bookings', async (request, response) => {
  const { locationIds, startDate, endDate } = request.query as Record<string, string>;
  const query = db('booking')
    .whereIn('facility_id', response.locals.facilities)
    .whereIn('location_id', [locationIds ?? []].flat())
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
    .select(columns)
    .orderBy(['start_date', 'id'])
    .limit(size)
    .offset((page - 1) * size);
  const items = rows.map((row) => bookingResource(row, baseUrl, withoutEditLinks));
  response.json(listResource(items, Number(count.total), page, size, new URL(request.originalUrl, baseUrl)));
}

app.listen(options.port);
endWithParent();
