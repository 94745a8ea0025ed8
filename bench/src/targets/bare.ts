// Serves the Bookings API with node:http and pg only.
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type BookingRow, bookingBody, listBody } from './bodies.ts';
import { type Claims, endWithParent, programOptions } from './program.ts';
import { openStore } from './store.ts';

const options = programOptions();
const { baseUrl } = options;
const store = await openStore(options.databaseUrl);
const { keys } = (await (await fetch(options.jwksUri)).json()) as { keys: [JsonWebKey] };
const key = createPublicKey({ key: keys[0], format: 'jwk' });
/** The claims of the verified tokens, whose signatures are verified once, as in the service. */
const verified = new Map<string, Claims & { exp: number }>();

function claimsOf(authorization = ''): Claims | undefined {
  const token = authorization.slice('Bearer '.length);
  const cached = verified.get(token);
  if (cached) return cached.exp * 1000 > Date.now() ? cached : undefined;
  const [header = '', payload = '', signature = ''] = token.split('.');
  const signed = Buffer.from(`${header}.${payload}`);
  // Signatures of JWTs have the form IEEE P1363 (RFC 7518 section 3.4). By default, Node expects DER.
  if (!verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')))
    return undefined;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const isAccepted =
    claims.iss === options.issuer && claims.aud === options.audience && claims.scope.split(' ').includes(options.scope);
  if (!isAccepted) return undefined;
  verified.set(token, claims);
  return claims;
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

const noErrors = { errors: [] };
const sendBooking = (response: ServerResponse, row: BookingRow | undefined, status: number) =>
  row ? send(response, status, bookingBody(row, baseUrl)) : send(response, 404, noErrors);

async function readBody(request: IncomingMessage): Promise<Record<string, string>> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

async function respond(request: IncomingMessage, response: ServerResponse, { facilities }: Claims): Promise<void> {
  const path = request.url ?? '/';
  const url = new URL(path, baseUrl);
  const query = Object.fromEntries(url.searchParams);
  // For example ['', 'api', 'bookings', ID] or ['', 'api', 'bays', BAY, 'upcoming-bookings'].
  const [, , , id, list] = url.pathname.split('/');
  if (request.method === 'POST')
    return sendBooking(response, await store.create(facilities, await readBody(request)), 201);
  if (id === undefined) return send(response, 200, listBody(await store.search(facilities, query), baseUrl, path));
  if (request.method === 'PUT')
    return sendBooking(response, await store.update(facilities, id, await readBody(request)), 200);
  if (list) return send(response, 200, listBody(await store.upcoming(facilities, id, query), baseUrl, path));
  sendBooking(response, await store.get(facilities, id), 200);
}

createServer((request, response) => {
  if (request.url === '/ready') return void response.end();
  const claims = claimsOf(request.headers.authorization);
  if (!claims) return send(response, 401, noErrors);
  respond(request, response, claims).catch(() => send(response, 500, noErrors));
}).listen(options.port);
endWithParent();
