// Serves the Bookings API with node:http and pg only: the statements of `fastify`, without access log, metrics and
// common headers. No server can be faster.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { availabilityResponse, bookingResponse, bookingsResponse, type Sent } from './bodies.ts';
import { endWithParent, programOptions } from './program.ts';
import { openStore } from './store.ts';
import { createVerifier } from './tokens.ts';

const options = programOptions();
const { baseUrl } = options;
const store = await openStore(options.databaseUrl);
const verify = await createVerifier(options);

async function readBody(request: IncomingMessage): Promise<Record<string, string>> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

async function respond(request: IncomingMessage): Promise<Sent> {
  const { url: path = '/', method } = request;
  const caller = verify(request.headers.authorization);
  const url = new URL(path, baseUrl);
  const query = Object.fromEntries(url.searchParams);
  // For example ['', 'api', 'bookings', ID] or ['', 'api', 'bays', BAY, 'upcoming-bookings'].
  const [, , kind, id, list] = url.pathname.split('/');
  if (method === 'POST')
    return bookingResponse(await store.create(caller, await readBody(request), randomUUID()), baseUrl, 'created');
  if (kind === 'booking-availability') {
    const asOf = new Date();
    return availabilityResponse(await store.availability(caller, query, asOf), asOf, baseUrl, path);
  }
  if (id === undefined) return bookingsResponse(await store.search(caller, query), baseUrl, path);
  if (method === 'PUT') {
    const row = await store.update(caller, id, await readBody(request), randomUUID());
    return bookingResponse(row, baseUrl, 'updated');
  }
  if (list) return bookingsResponse(await store.upcoming(caller, id, query), baseUrl, path);
  return bookingResponse(await store.get(caller, id), baseUrl, 'read');
}

createServer(async (request, response) => {
  if (request.url === '/ready') return void response.end();
  const { status, body } = await respond(request).catch(({ statusCode: status = 500 }) => ({
    status,
    body: { errors: [] },
  }));
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}).listen(options.port);
endWithParent();
