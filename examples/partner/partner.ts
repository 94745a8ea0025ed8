// The back end of a website that books bays: free times, a hold while the customer pays, the booking, and webhooks.
import { createServer, type IncomingMessage } from 'node:http';
import { BookingsApiError, createBookingsClient } from '@bay-booking/client';
import { verifyWebhook, WebhookVerificationError } from '@bay-booking/client/webhooks';

const environment = process.env;
const port = Number(environment.PORT ?? 4020);
const publicUrl = environment.PUBLIC_URL ?? `http://localhost:${port}`;

const client = createBookingsClient({
  baseUrl: environment.BOOKINGS_URL ?? 'http://localhost:4001',
  auth: {
    clientId: environment.CLIENT_ID ?? 'demo-pat-north',
    clientSecret: environment.CLIENT_SECRET ?? 'demo-pat-north-secret',
  },
});

/** The times that customers have chosen, by hold. A real website has tables instead of these two maps. */
const holds = new Map<string, { bayId: string; startDate: string; endDate: string }>();
/** What webhooks have reported, by booking. */
const bookings = new Map<string, { state: string; modified: number; bayId: string; startDate: string }>();
let webhookSecret: string;

const routes: Record<string, (request: IncomingMessage, url: URL) => Promise<[status: number, body?: unknown]>> = {
  /** Free times of at least half an hour, of all bays of a location. */
  'GET /free': async (_request, { searchParams }) => {
    const startDate = searchParams.get('from') ?? new Date().toISOString();
    const endDate = new Date(Date.parse(startDate) + 24 * 3_600_000).toISOString();
    const locationIds = [searchParams.get('location') ?? 'loc-north-2'];
    const bays = await client.availability.search({ locationIds, startDate, endDate, minMinutes: 30 }).toArray();
    return [200, bays.map(({ bay, free }) => ({ bayId: bay.id, name: bay.name, free }))];
  },

  /** The customer has chosen a time, and has five minutes to pay. */
  'POST /holds': async (request) => {
    const { bayId, startDate, endDate } = JSON.parse(await textOf(request));
    const time = { bayId, startDate, endDate };
    const { id, expiresAt } = await client.holds.create({ ...time, holdSeconds: 300 });
    holds.set(id, time);
    return [201, { holdId: id, expiresAt }];
  },

  /** The customer has paid. A repeated request with the same order number returns the same booking. */
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

  'GET /orders': async () => [200, Object.fromEntries(bookings)],

  /** The service reports every change, also those that others make. */
  'POST /hook': async (request) => {
    const event = verifyWebhook({ secret: webhookSecret, headers: request.headers, body: await textOf(request) });
    if (event.type === 'webhook.ping') return [204];
    const { booking, modified } = event.data;
    const { id, bayId, startDate } = booking;
    // Deliveries may be repeated or overtake each other.
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
  if (error instanceof WebhookVerificationError || error instanceof SyntaxError || error instanceof RangeError)
    return [400];
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

// The secret of a webhook is returned once. A website stores it; this example registers a new webhook at each start.
const hook = `${publicUrl}/hook`;
for (const { id, url } of await client.webhooks.list().toArray()) if (url === hook) await client.webhooks.delete(id);
const webhook = await client.webhooks.create({ url: hook, description: 'examples/partner' });
webhookSecret = webhook.secret;
console.log(`Listening on ${publicUrl}`);

async function stop(): Promise<void> {
  await client.webhooks.delete(webhook.id);
  server.close();
}
process.once('SIGINT', stop).once('SIGTERM', stop);
