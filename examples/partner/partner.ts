// Runs the back end of a website on which customers book bays. The program lists free times, holds a time while the
// customer pays, creates the booking, books several bays for a party, and receives webhooks.
import { createServer, type IncomingMessage } from 'node:http';
import { type BayAvailability, BookingsApiError, createBookingsClient } from '@bay-booking/client';
import { verifyWebhook, WebhookVerificationError } from '@bay-booking/client/webhooks';
import { countByProgram } from './usage.ts';

const environment = process.env;
const port = Number(environment.PORT ?? 4020);
const publicUrl = environment.PUBLIC_URL ?? `http://localhost:${port}`;
const bookingsUrl = environment.BOOKINGS_URL ?? 'http://localhost:4001';

const client = createBookingsClient({
  baseUrl: bookingsUrl,
  auth: {
    clientId: environment.CLIENT_ID ?? 'demo-pat-north',
    clientSecret: environment.CLIENT_SECRET ?? 'demo-pat-north-secret',
  },
});

/** The times that customers have chosen. The key is the id of the hold. A real website stores this in a database. */
const holds = new Map<string, { bayId: string; startDate: string; endDate: string }>();
/** The latest state of each booking that webhooks have reported. The key is the id of the booking. */
const bookings = new Map<string, { state: string; modified: number; bayId: string; startDate: string }>();
let webhookSecret: string;

const routes: Record<string, (request: IncomingMessage, url: URL) => Promise<[status: number, body?: unknown]>> = {
  /** Lists the free times of at least half an hour in all bays of a location. */
  'GET /free': async (_request, { searchParams }) => {
    const startDate = searchParams.get('from') ?? new Date().toISOString();
    const endDate = new Date(Date.parse(startDate) + 24 * 3_600_000).toISOString();
    const locationIds = [searchParams.get('location') ?? 'loc-north-2'];
    const bays = await client.availability.search({ locationIds, startDate, endDate, minMinutes: 30 }).toArray();
    return [200, bays.map(({ bay, free }) => ({ bayId: bay.id, name: bay.name, free }))];
  },

  /** Holds the time that the customer has chosen. The customer has five minutes to pay. */
  'POST /holds': async (request) => {
    const { bayId, startDate, endDate } = JSON.parse(await textOf(request));
    const time = { bayId, startDate, endDate };
    const { id, expiresAt } = await client.holds.create({ ...time, holdSeconds: 300 });
    holds.set(id, time);
    return [201, { holdId: id, expiresAt }];
  },

  /** Creates the booking after the payment. A second request with the same order number returns the same booking. */
  'POST /orders': async (request) => {
    const { order, name, holdId } = JSON.parse(await textOf(request));
    const time = holds.get(holdId);
    if (!time) return [404, { message: 'This hold does not exist.' }];
    const booking = await client.bookings.create(
      { ...time, externalBookingId: order, userAlias: name, holdId },
      { idempotencyKey: order },
    );
    return [201, { bookingId: booking.id }];
  },

  /** Books so many bays of a location for a party, or none. */
  'POST /parties': async (request) => {
    const { order, name, bays, location = 'loc-north-2', startDate, endDate } = JSON.parse(await textOf(request));
    const times = { startDate, endDate };
    // The request may be a repetition, after the response to the first one was lost.
    const [booked] = await client.bookings.search({ metadata: { party: order } }).toArray();
    if (booked) return [201, { groupId: booked.groupId }];
    const isFree = ({ free: [gap] }: BayAvailability) => gap?.startDate === startDate && gap?.endDate === endDate;
    const found = await client.availability.search({ locationIds: [location], ...times }).toArray();
    const freeBays = found.filter(isFree).slice(0, bays);
    if (freeBays.length < bays) return [409, { message: `Only ${freeBays.length} bays are free at this time.` }];
    // The metadata lets the shop find the bookings of the party without a database of its own.
    const metadata = { party: order, bays: String(bays) };
    const bookings = freeBays.map(({ bay }) => ({ bayId: bay.id, userAlias: name, ...times, metadata }));
    const group = await client.groups.create({ bookings }, { idempotencyKey: order });
    return [201, { groupId: group.id }];
  },

  'GET /orders': async () => [200, Object.fromEntries(bookings)],

  'GET /usage': async () => [200, await countByProgram(client)],

  /** Receives the webhooks. The service reports every change of a booking, including changes that others make. */
  'POST /hook': async (request) => {
    const event = verifyWebhook({ secret: webhookSecret, headers: request.headers, body: await textOf(request) });
    if (event.type === 'webhook.ping') return [204];
    const { booking, modified } = event.data;
    const { id, bayId, startDate } = booking;
    // A delivery may arrive twice or in the wrong order. `modified` is a number that grows with every change.
    if (modified > (bookings.get(id)?.modified ?? 0)) {
      bookings.set(id, { state: event.type, modified, bayId, startDate });
      console.log(`${event.type} ${id}: ${bayId} at ${startDate}`);
    }
    return [204];
  },
};

const server = createServer(async (request, response) => {
  const [status, body] = await respond(request).catch(toErrorResponse);
  response
    .writeHead(status, { 'Content-Type': 'application/json' })
    .end(body === undefined ? '' : JSON.stringify(body));
});

async function respond(request: IncomingMessage): Promise<[status: number, body?: unknown]> {
  const url = new URL(`http://localhost${request.url}`);
  const route = routes[`${request.method} ${url.pathname}`];
  return route ? route(request, url) : [404];
}

function toErrorResponse(error: unknown): [status: number, body?: unknown] {
  // JSON.parse throws a SyntaxError, and toISOString throws a RangeError.
  if (error instanceof WebhookVerificationError || error instanceof SyntaxError || error instanceof RangeError)
    return [400];
  // Somebody else has booked or holds the bay at this time, or the facility has closed the bay.
  if (error instanceof BookingsApiError && (error.has('BOOK00002') || error.has('BOOK00003')))
    return [409, { message: 'Somebody was faster. Please choose another time.' }];
  if (error instanceof BookingsApiError && error.status === 400) return [400, { message: error.message }];
  console.error(error);
  return [502, { message: 'Please try again.' }];
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > 100_000) throw new SyntaxError('the body is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

await new Promise<void>((resolve) => void server.listen(port, resolve));

// The service returns the secret of a webhook only once. A real website stores the secret. This example stores nothing,
// so it replaces its webhook at each start.
const hook = `${publicUrl}/hook`;
for (const { id, url } of await client.webhooks.list().toArray()) if (url === hook) await client.webhooks.delete(id);
const webhook = await client.webhooks.create({ url: hook, description: 'examples/partner' });
webhookSecret = webhook.secret;
console.log(`Listening on ${publicUrl}`);
console.log(`The people at the range see the bookings at ${bookingsUrl}/day?location=loc-north-2`);

async function stop(): Promise<void> {
  await client.webhooks.delete(webhook.id);
  server.close();
}
process.once('SIGINT', stop).once('SIGTERM', stop);
