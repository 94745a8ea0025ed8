// Serves the Bookings API with Fastify and pg: compiled JSON Schemas, named statements, and a pipeline of statements.
import { randomUUID } from 'node:crypto';
import { type FastifyRequest, fastify } from 'fastify';
import { commonHeaders } from './bodies.ts';
import { observe } from './observe.ts';
import { endWithParent, programOptions } from './program.ts';
import { bodySchema, bookingSchema, listSchema } from './schemas.ts';
import { type ApiRequest, openStore } from './store.ts';
import { type Caller, createVerifier } from './tokens.ts';

const options = programOptions();
const store = await openStore(options);
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
const routes = [
  ['GET', '/api/bookings/:id', store.get, bookingSchema],
  ['POST', '/api/bookings', store.create, bookingSchema],
  ['PUT', '/api/bookings/:id', store.update, bookingSchema],
  ['DELETE', '/api/bookings/:id', store.delete, undefined],
  ['GET', '/api/bookings', store.search, listSchema],
] as const;
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
  for (const [method, url, handle, schema] of routes) {
    api.route({
      method,
      url,
      schema: {
        ...(schema && { response: { '2xx': schema } }),
        ...((method === 'POST' || method === 'PUT') && { body: bodySchema }),
      },
      handler: async ({ caller, id: requestId, url: path, params, query, body }: FastifyRequest, reply) => {
        const { id } = params as { id?: string };
        const sent = await handle({ caller, requestId, path, id, query, body } as ApiRequest);
        return reply.code(sent.status).headers(sent.headers).send(sent.body);
      },
    });
  }
});
await app.listen({ port: options.port, host: '127.0.0.1' });
endWithParent();
