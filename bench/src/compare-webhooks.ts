// Measures webhooks in two situations:
// - All receivers respond: how many events does one instance deliver per second on one core?
// - A fifth of the receivers never respond, and 100 bookings are created per second: which share of the events arrives
//   at the other receivers within two seconds?
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@bay-booking/postgres/ports';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import { removeCreated } from './booking-operations.ts';
import { baseUrl, scope, startBookings } from './bookings-service.ts';
import { type Child, startChild } from './child.ts';
import { inOneDay } from './compare-bookings.ts';
import { bayId, baysPerFacility, createdFrom, facilityId } from './dataset.ts';
import { cpuOf, cpuOfFamily, memoryOf } from './machine.ts';
import { otherCore, type RunOptions, type Sample, serviceCore, unknownCosts } from './measure.ts';
import { onDatabase } from './server.ts';

export interface CompareWebhooksOptions extends RunOptions {
  readonly databaseUrl: string;
}

const receiverCount = 5;
const createsPerSecond = 100;
const halfHourMs = 30 * 60_000;

export async function compareWebhooks(options: CompareWebhooksOptions): Promise<Sample[]> {
  const { databaseUrl, rounds, seconds, log } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const children: Child[] = [];
  try {
    const receiver = await startReceiver();
    children.push(receiver);
    const environment = {
      WEBHOOK_KEY: Buffer.alloc(32, 'bench').toString('base64'),
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    };
    const service = await startBookings({ databaseUrl, issuer, core: serviceCore, environment });
    children.push(service);
    const token = await issuer.token({ facilities: [facilityId(1)], scope, exp: inOneDay() });
    const setup: Setup = { ...options, client: apiClient(service.url, token), receiver, service };
    return await onDatabase(databaseUrl, async (database) => {
      await removeCreated(database);
      const samples: Sample[] = [];
      // Deletes the webhooks that an interrupted run has not deleted.
      await database.query('delete from webhook');
      for (let round = 0; round < rounds; round += 1) {
        const measured = { ...(await measureRate(setup)), ...(await measureDelays(setup)) };
        for (const [target, values] of Object.entries(measured)) {
          const memory = memoryOf(service.pid);
          // `values` contains the costs that were measured. They replace the placeholders in `unknownCosts`.
          samples.push({ operation: 'webhooks', target, round, ...unknownCosts, memory, ...values });
        }
      }
      log(`webhooks: ${rounds} rounds of ${seconds} s`);
      await removeCreated(database);
      return samples;
    });
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await issuer.close();
  }
}

async function startReceiver(): Promise<Child> {
  const port = await freePort();
  return startChild({
    name: 'webhook-receiver',
    script: fileURLToPath(new URL('targets/webhook-receiver.ts', import.meta.url)),
    args: [JSON.stringify({ port })],
    core: otherCore,
    port,
    readyPath: '/ready',
  });
}

interface Setup extends RunOptions {
  readonly client: Client;
  readonly receiver: Child;
  readonly service: Child;
}

/** The measured values, by the name of the target in the report. */
type Measured = Readonly<Record<string, Pick<Sample, 'rate'> & Partial<Sample>>>;

async function measureRate({ client, receiver, service, postmaster, seconds }: Setup): Promise<Measured> {
  const urls = Array.from({ length: receiverCount }, () => `${receiver.url}/hook`);
  const webhooks = await register(client, urls);
  // The replay sends events again: one for every change of the facility. The service therefore has enough events to
  // send until the measurement ends.
  for (const id of webhooks)
    await client('POST', `/api/webhooks/${id}/replay`, { facilityId: facilityId(1), afterChangeNumber: 0 });
  // Waits until events arrive. Each call of `readStats` counts only the events since the previous call.
  await until(async () => (await readStats(receiver)).received > 0);
  const before = { cpu: cpuOf(service.pid), database: cpuOfFamily(postmaster), at: performance.now() };
  await sleep(seconds * 1_000);
  const { received } = await readStats(receiver);
  const rate = (received / (performance.now() - before.at)) * 1_000;
  // CPU time for each event, in microseconds
  const cpu = (cpuOf(service.pid) - before.cpu) / received;
  const databaseCpu = (cpuOfFamily(postmaster) - before.database) / received;
  await remove(client, webhooks);
  return { 'all healthy': { rate, cpu, databaseCpu } };
}

/**
 * Returns the number of events that should arrive, and the number of events that arrive within two seconds. The report
 * shows these numbers in the column of the rates.
 */
async function measureDelays({ client, receiver, seconds }: Setup): Promise<Measured> {
  const urls = Array.from({ length: receiverCount }, (_, index) => `${receiver.url}${index === 0 ? '/hang' : '/hook'}`);
  const webhooks = await register(client, urls);
  // Deliveries of the previous measurement (`measureRate`) may still be in progress.
  await until(async () => (await readStats(receiver)).received === 0);
  // This measurement takes twice as long as `seconds`, so that it counts more events.
  const created = await createBookings(client, seconds * 2);
  // An event that has not arrived after this pause takes longer than the two seconds that the measurement allows.
  await sleep(2_500);
  const { received, late } = await readStats(receiver);
  // One of the receivers hangs. `received` can be greater than `expected`, because a delivery can be repeated.
  const expected = created * (receiverCount - 1);
  await remove(client, webhooks);
  return { expected: { rate: expected }, 'within 2 s': { rate: Math.min(received, expected) - late } };
}

interface Stats {
  readonly received: number;
  readonly late: number;
}

/** Reads how many events the receiver has got since the last call, and how many of them were late. */
const readStats = async ({ url }: Child): Promise<Stats> => (await fetch(`${url}/stats`)).json() as Promise<Stats>;

type Client = (method: string, path: string, body?: object) => Promise<{ readonly id: string }>;

const apiClient =
  (base: string, token: string): Client =>
  async (method, path, body) => {
    const response = await fetch(base + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text.slice(0, 300)}`);
    return text ? JSON.parse(text) : {};
  };

const register = (client: Client, urls: readonly string[]): Promise<string[]> =>
  Promise.all(urls.map(async (url) => (await client('POST', '/api/webhooks', { url })).id));

const remove = (client: Client, ids: readonly string[]) =>
  Promise.all(ids.map((id) => client('DELETE', `/api/webhooks/${id}`)));

/** The number of the next booking. It determines the bay and the half hour, so that no two bookings overlap. */
let slot = 0;

/** Creates `createsPerSecond` bookings per second at an even rate, and returns their number. */
async function createBookings(client: Client, seconds: number): Promise<number> {
  const count = seconds * createsPerSecond;
  const start = performance.now();
  const requests: Promise<unknown>[] = [];
  for (let index = 0; index < count; index += 1, slot += 1) {
    const from = Date.parse(createdFrom) + Math.floor(slot / baysPerFacility) * halfHourMs;
    const [startDate, endDate] = [from, from + halfHourMs].map((time) => new Date(time).toISOString());
    const booking = { bayId: bayId((slot % baysPerFacility) + 1), userAlias: 'bench', startDate, endDate };
    requests.push(client('POST', '/api/bookings', booking));
    await sleep(Math.max(0, start + (index + 1) * (1_000 / createsPerSecond) - performance.now()));
  }
  await Promise.all(requests);
  return count;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('the webhooks did not reach the expected state within 30 s');
    await sleep(100);
  }
}
