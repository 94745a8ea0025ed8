// Serves the Bookings API with Fastify and pg: compiled JSON Schemas, named statements, and a pipeline of statements.
import { randomUUID } from 'node:crypto';
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { availabilityResponse, bookingResponse, bookingsResponse, commonHeaders, type Sent } from './bodies.ts';
import type { Body } from './changes.ts';
import { observe } from './observe.ts';
import { endWithParent, programOptions } from './program.ts';
import { availabilitySchema, bodySchema, bookingSchema, listSchema } from './schemas.ts';
import { type ListQuery, openStore } from './store.ts';
import { type Caller, createVerifier } from './tokens.ts';

const options = programOptions();
const { baseUrl } = options;
const store = await openStore(options.databaseUrl);
const verify = await createVerifier(options);

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
}

const app = fastify({ genReqId: () => randomUUID(), requestIdHeader: false });
app.get('/ready', async () => ({}));
app.decorateRequest('caller');
app.setErrorHandler(({ statusCode = 500 }: { statusCode?: number }, _request, reply) =>
  reply.code(statusCode).send({ errors: [] }),
);
// The hook applies to the routes inside this function only, so `/ready` needs no token.
app.register(async (api) => {
  api.addHook('onRequest', async (request, reply) => {
    observe(request.raw, reply.raw, () => ({
      requestId: request.id,
      route: request.routeOptions.url,
      caller: request.caller,
    }));
    reply.headers(commonHeaders).header('X-Request-Id', request.id);
    request.caller = verify(request.headers.authorization);
  });
  const send = (reply: FastifyReply, { status, headers, body }: Sent) => reply.code(status).headers(headers).send(body);
  type IdRequest = FastifyRequest<{ Params: { id: string } }>;
  const single = { response: { 200: bookingSchema, 201: bookingSchema } };
  const list = { response: { 200: listSchema } };

  api.get('/api/bookings/:id', { schema: single }, async ({ caller, params }: IdRequest, reply) =>
    send(reply, bookingResponse(await store.get(caller, params.id), baseUrl, 'read')),
  );
  api.post<{ Body: Body }>(
    '/api/bookings',
    { schema: { ...single, body: bodySchema } },
    async ({ caller, body, id }, reply) =>
      send(reply, bookingResponse(await store.create(caller, body, id), baseUrl, 'created')),
  );
  api.put<{ Params: { id: string }; Body: Body }>(
    '/api/bookings/:id',
    { schema: { ...single, body: bodySchema } },
    async ({ caller, params, body, id }, reply) =>
      send(reply, bookingResponse(await store.update(caller, params.id, body, id), baseUrl, 'updated')),
  );
  api.get<{ Querystring: ListQuery }>('/api/bookings', { schema: list }, async ({ caller, query, url }, reply) =>
    send(reply, bookingsResponse(await store.search(caller, query), baseUrl, url)),
  );
  api.get<{ Params: { id: string }; Querystring: ListQuery }>(
    '/api/bays/:id/upcoming-bookings',
    { schema: list },
    async ({ caller, params, query, url }, reply) =>
      send(reply, bookingsResponse(await store.upcoming(caller, params.id, query), baseUrl, url)),
  );
  api.get<{ Querystring: ListQuery }>(
    '/api/booking-availability',
    { schema: { response: { 200: availabilitySchema } } },
    async ({ caller, query, url }, reply) => {
      const asOf = new Date();
      return send(reply, availabilityResponse(await store.availability(caller, query, asOf), asOf, baseUrl, url));
    },
  );
});
await app.listen({ port: options.port, host: '127.0.0.1' });
endWithParent();
