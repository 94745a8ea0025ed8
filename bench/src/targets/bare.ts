// The target `bare` of the benchmark: serves the Bookings API with node:http and pg only, which shows how much time the
// service adds. Runs statements like those of the service (statements.ts), and caches verified tokens as the service
// does.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import pg from 'pg';
import { type BookingRow, bookingResource, listResource, newBooking } from './response-bodies.ts';
import { endWithParent, fetchKey, peerOptions } from './start.ts';
import { findPage, placeFacilities, statements } from './statements.ts';
import { type Claims, tokenVerifier } from './verify.ts';

const options = peerOptions();
const { baseUrl } = options;
// By default, the service also has 10 connections (DB_POOL_MAX).
const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 10 });
// Without a listener, a lost connection would end the process.
pool.on('error', () => {});
const verifyToken = tokenVerifier(await fetchKey(options.jwksUri), options);
/** The facility of each bay and location, by the id of the bay or location. */
const facilityOf = new Map<string, string>();
for (const { id, facility_id } of (await pool.query(placeFacilities)).rows) facilityOf.set(id, facility_id);

/** A row of any statement. Only the statements that count bookings return `total`. */
type Row = BookingRow & { total?: number };
type FoundPage = Awaited<ReturnType<typeof findPage<Row>>>;
async function run(name: keyof typeof statements, values: unknown[]): Promise<Row[]> {
  return (await pool.query({ name, text: statements[name], values })).rows;
}

/**
 * Returns the facility of a bay or location. Returns '' if the token does not contain the facility. No facility has the
 * id '', so every statement then finds nothing.
 */
function permittedFacility(id: string | null | undefined, { facilities }: Claims): string {
  const facility = facilityOf.get(id ?? '') ?? '';
  return facilities.includes(facility) ? facility : '';
}

/** Returns the body for one booking. It has links to edit and delete the booking, which items of lists do not have. */
const bodyOf = (row: BookingRow): object => bookingResource(row, baseUrl, true);
/** The body of every error. The load of the benchmark causes no errors, so this target does not describe them. */
const noErrors = { errors: [] };

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

async function readBody(request: IncomingMessage): Promise<Record<string, string>> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

async function respond(request: IncomingMessage, response: ServerResponse, claims: Claims): Promise<void> {
  const url = new URL(request.url ?? '/', baseUrl);
  // For example, ['', 'api', 'bookings', ID] or ['', 'api', 'bays', BAY, 'upcoming-bookings'].
  const parts = url.pathname.split('/');
  const now = new Date().toISOString();
  if (request.method === 'POST') {
    const body = await readBody(request);
    const { values, row } = newBooking(randomUUID(), permittedFacility(body.bayId, claims), body);
    const [created] = await run('create', values);
    return created ? send(response, 201, bodyOf(row)) : send(response, 400, noErrors);
  }
  if (request.method === 'PUT') {
    const { bayId, userAlias, startDate, endDate } = await readBody(request);
    const values = [permittedFacility(bayId, claims), parts[3], bayId, userAlias, startDate, endDate, now];
    const [row] = await run('update', values);
    return row ? send(response, 200, bodyOf(row)) : send(response, 404, noErrors);
  }
  const page = Number(url.searchParams.get('page') ?? 1);
  if (parts[4] === 'upcoming-bookings') {
    const size = Number(url.searchParams.get('pageSize') ?? 10);
    const filter = [permittedFacility(parts[3], claims), parts[3], now];
    return sendList(response, await findPage(run, 'upcoming', filter, { page, size }), page, size, url);
  }
  if (parts[3] === undefined) {
    const size = Number(url.searchParams.get('pageSize') ?? 50);
    const dates = [url.searchParams.get('startDate'), url.searchParams.get('endDate')];
    const location = url.searchParams.get('locationIds');
    const filter = [permittedFacility(location, claims), location, ...dates];
    return sendList(response, await findPage(run, 'search', filter, { page, size }), page, size, url);
  }
  const [row] = await run('get', [claims.facilities, parts[3]]);
  return row ? send(response, 200, bodyOf(row)) : send(response, 404, noErrors);
}

function sendList(response: ServerResponse, found: FoundPage, page: number, size: number, url: URL): void {
  const items = found.rows.map((row) => bookingResource(row, baseUrl, false));
  send(response, 200, listResource(items, found.total, page, size, url));
}

createServer((request, response) => {
  if (request.url === '/ready') return void response.end();
  const claims = verifyToken(request.headers.authorization);
  if (!claims) return send(response, 401, noErrors);
  respond(request, response, claims).catch(() => send(response, 500, noErrors));
}).listen(options.port);
endWithParent();
