// Serves the Bookings API with Fastify and pg, in the way that their documentation describes. The benchmark compares
// the bookings service with this server, the target `fastify`. The server uses named statements, fast-jwt with its
// cache, and JSON Schemas for request and response bodies.
import { randomUUID } from 'node:crypto';
import { createVerifier } from 'fast-jwt';
import { type FastifyRequest, fastify } from 'fastify';
import pg from 'pg';
import { type BookingRow, bookingResource, listResource, newBooking } from './response-bodies.ts';
import { bodySchema, bookingSchema, listSchema } from './schemas.ts';
import { endWithParent, fetchKey, peerOptions } from './start.ts';
import { findPage, placeFacilities, statements } from './statements.ts';
import type { Claims } from './verify.ts';

const options = peerOptions();
const { baseUrl } = options;
const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 10 });
// Without a handler, the loss of an idle connection would end the process.
pool.on('error', () => {});
const key = await fetchKey(options.jwksUri);
const verify = createVerifier({
  key: key.export({ type: 'spki', format: 'pem' }) as string,
  algorithms: ['ES256'],
  allowedIss: options.issuer,
  allowedAud: options.audience,
  cache: 10_000,
});
/** The facility of each bay and location, by the id of the bay or location. */
const facilityOf = new Map<string, string>();
for (const { id, facility_id } of (await pool.query(placeFacilities)).rows) facilityOf.set(id, facility_id);

declare module 'fastify' {
  interface FastifyRequest {
    facilities: string[];
  }
}
/** A single booking has links to edit and delete it. The bookings of a list do not. */
const singleBooking = (row: BookingRow): object => bookingResource(row, baseUrl, true);
/** A row of a booking. Queries that count bookings return one row with only `total`. */
type Row = BookingRow & { total?: number };
type FoundPage = Awaited<ReturnType<typeof findPage<Row>>>;
async function run(name: keyof typeof statements, values: unknown[]): Promise<Row[]> {
  return (await pool.query({ name, text: statements[name], values })).rows;
}

/**
 * Returns the facility of a bay or location. Returns '' if the token does not contain the facility. No facility has the
 * id '', so every statement then finds nothing.
 */
function permittedFacility(id: string | undefined, { facilities }: FastifyRequest): string {
  const facility = facilityOf.get(id ?? '') ?? '';
  return facilities.includes(facility) ? facility : '';
}

const app = fastify();
app.get('/ready', async () => ({}));
app.decorateRequest('facilities');
// The hook applies to the routes inside this function only, so `/ready` needs no token.
app.register(async (api) => {
  api.addHook('onRequest', async (request, reply) => {
    try {
      const claims = verify(request.headers.authorization?.slice('Bearer '.length) ?? '') as Claims;
      if (!claims.scope.split(' ').includes(options.scope)) return reply.code(403).send({ errors: [] });
      request.facilities = claims.facilities;
    } catch {
      return reply.code(401).send({ errors: [] });
    }
  });
  const booking = { response: { 200: bookingSchema, 201: bookingSchema } };
  api.get<{ Params: { id: string } }>('/api/bookings/:id', { schema: booking }, async (request, reply) => {
    const [row] = await run('get', [request.facilities, request.params.id]);
    return row ? singleBooking(row) : reply.code(404).send({ errors: [] });
  });
  api.post<{ Body: Record<string, string> }>(
    '/api/bookings',
    { schema: { ...booking, body: bodySchema } },
    async (request, reply) => {
      const { body } = request;
      const { values, row } = newBooking(randomUUID(), permittedFacility(body.bayId, request), body);
      const [created] = await run('create', values);
      return created ? reply.code(201).send(singleBooking(row)) : reply.code(400).send({ errors: [] });
    },
  );
  api.put<{ Params: { id: string }; Body: Record<string, string> }>(
    '/api/bookings/:id',
    { schema: { ...booking, body: bodySchema } },
    async (request, reply) => {
      const { bayId, userAlias, startDate, endDate } = request.body;
      const facility = permittedFacility(bayId, request);
      const now = new Date().toISOString();
      const values = [facility, request.params.id, bayId, userAlias, startDate, endDate, now];
      const [row] = await run('update', values);
      return row ? singleBooking(row) : reply.code(404).send({ errors: [] });
    },
  );
  const list = { response: { 200: listSchema } };
  type Query = { locationIds?: string; startDate?: string; endDate?: string; page?: string; pageSize?: string };
  api.get<{ Querystring: Query }>('/api/bookings', { schema: list }, async (request) => {
    const { locationIds, startDate, endDate, page = 1, pageSize = 50 } = request.query;
    const paging = { page: Number(page), size: Number(pageSize) };
    const filter = [permittedFacility(locationIds, request), locationIds, startDate, endDate];
    return toList(await findPage(run, 'search', filter, paging), paging, new URL(request.url, baseUrl));
  });
  api.get<{ Params: { id: string }; Querystring: Query }>(
    '/api/bays/:id/upcoming-bookings',
    { schema: list },
    async (request) => {
      const { page = 1, pageSize = 10 } = request.query;
      const { id } = request.params;
      const paging = { page: Number(page), size: Number(pageSize) };
      const filter = [permittedFacility(id, request), id, new Date().toISOString()];
      return toList(await findPage(run, 'upcoming', filter, paging), paging, new URL(request.url, baseUrl));
    },
  );
});

function toList(found: FoundPage, { page, size }: { page: number; size: number }, url: URL): object {
  const items = found.rows.map((row) => bookingResource(row, baseUrl, false));
  return listResource(items, found.total, page, size, url);
}

await app.listen({ port: options.port, host: '127.0.0.1' });
endWithParent();
