// Serves the Bookings API with node:http and pg only: the statements of `fastify`, without access log, metrics and
// common headers. No server can be faster.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { Sent } from './bodies.ts';
import { endWithParent, programOptions } from './program.ts';
import { openStore } from './store.ts';
import { createVerifier } from './tokens.ts';

const options = programOptions();
const store = await openStore(options);
const verify = await createVerifier(options);

async function respond(request: IncomingMessage): Promise<Sent> {
  const { url: path = '/', method } = request;
  const caller = verify(request.headers.authorization);
  let body = '';
  if (method !== 'GET') for await (const chunk of request) body += chunk;
  const { pathname, searchParams } = new URL(path, options.baseUrl);
  // For example ['', 'api', 'bookings', ID].
  const [, , kind, id] = pathname.split('/');
  const handle = () => {
    if (method === 'POST') return store.create;
    if (method === 'DELETE') return store.delete;
    if (kind === 'booking-availability') return store.availability;
    if (id === undefined) return store.search;
    return method === 'PUT' ? store.update : store.get;
  };
  const query = Object.fromEntries(searchParams);
  return handle()({ caller, requestId: randomUUID(), path, id, query, body: body ? JSON.parse(body) : {} });
}

createServer(async (request, response) => {
  if (request.url === '/ready') return void response.end();
  const failed = ({ statusCode: status = 500 }) => ({ status, body: { errors: [] } });
  const { status, body } = await respond(request).catch(failed);
  if (body === undefined) return void response.writeHead(status).end();
  const text = JSON.stringify(body);
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(text) };
  response.writeHead(status, headers).end(text);
}).listen(options.port);
endWithParent();
