// Serves the Bookings API with Fastify and pg: named statements, JSON Schemas, and fast-jwt with its cache.
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { createVerifier } from 'fast-jwt';
import { fastify } from 'fastify';
import { type BookingRow, bookingBody, listBody, type Page } from './bodies.ts';
import { type Claims, endWithParent, programOptions } from './program.ts';
import { bodySchema, bookingSchema, listSchema } from './schemas.ts';
import { type Body, type ListQuery, openStore } from './store.ts';

const options = programOptions();
const { baseUrl } = options;
const store = await openStore(options.databaseUrl);
const { keys } = (await (await fetch(options.jwksUri)).json()) as { keys: [JsonWebKey] };
const verify = createVerifier({
  key: createPublicKey({ key: keys[0], format: 'jwk' }).export({ type: 'spki', format: 'pem' }) as string,
  algorithms: ['ES256'],
  allowedIss: options.issuer,
  allowedAud: options.audience,
  cache: 10_000,
});

declare module 'fastify' {
  interface FastifyRequest {
    facilities: string[];
  }
}

function toBooking(row: BookingRow | undefined): object {
  if (!row) throw Object.assign(new Error('not found'), { statusCode: 404 });
  return bookingBody(row, baseUrl);
}
const toList = (page: Page, path: string): object => listBody(page, baseUrl, path);

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
  const single = { response: { 200: bookingSchema, 201: bookingSchema } };
  const list = { response: { 200: listSchema } };
  api.get<{ Params: { id: string } }>('/api/bookings/:id', { schema: single }, async ({ facilities, params }) =>
    toBooking(await store.get(facilities, params.id)),
  );
  api.post<{ Body: Body }>(
    '/api/bookings',
    { schema: { ...single, body: bodySchema } },
    async ({ facilities, body }, reply) => reply.code(201).send(toBooking(await store.create(facilities, body))),
  );
  api.put<{ Params: { id: string }; Body: Body }>(
    '/api/bookings/:id',
    { schema: { ...single, body: bodySchema } },
    async ({ facilities, params, body }) => toBooking(await store.update(facilities, params.id, body)),
  );
  api.get<{ Querystring: ListQuery }>('/api/bookings', { schema: list }, async ({ facilities, query, url }) =>
    toList(await store.search(facilities, query), url),
  );
  api.get<{ Params: { id: string }; Querystring: ListQuery }>(
    '/api/bays/:id/upcoming-bookings',
    { schema: list },
    async ({ facilities, params, query, url }) => toList(await store.upcoming(facilities, params.id, query), url),
  );
});
await app.listen({ port: options.port, host: '127.0.0.1' });
endWithParent();
