// Measures webhooks in two situations. If all receivers respond, it measures how many events one instance delivers per
// second on one core. If a fifth of the receivers never respond, and 100 bookings are created per second, it measures
// the share of the events that arrive within two seconds at the other receivers.
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
import { otherCore, type Sample, serviceCore } from './measure.ts';
import { onDatabase } from './server.ts';

export interface CompareWebhooksOptions {
  readonly databaseUrl: string;
  readonly postmaster: number | undefined;
  readonly rounds: number;
  readonly seconds: number;
  readonly log: (line: string) => void;
}

const receivers = 5;
const createsPerSecond = 100;

export async function compareWebhooks(options: CompareWebhooksOptions): Promise<Sample[]> {
  const { databaseUrl, postmaster, rounds, log } = options;
  const issuer = await createTestIssuer({ audience: baseUrl });
  const port = await freePort();
  const children: Child[] = [];
  try {
    const receiver = await startChild({
      name: 'webhook-receiver',
      script: fileURLToPath(new URL('targets/webhook-receiver.ts', import.meta.url)),
      args: [JSON.stringify({ port })],
      core: otherCore,
      port,
      readyPath: '/ready',
    });
    children.push(receiver);
    const environment = {
      WEBHOOK_KEY: Buffer.alloc(32, 'bench').toString('base64'),
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    };
    const service = await startBookings({ databaseUrl, issuer, core: serviceCore, environment });
    children.push(service);
    const token = await issuer.token({ facilities: [facilityId(1)], scope, exp: inOneDay() });
    const client = apiClient(service.url, token);
    return await onDatabase(databaseUrl, async (database) => {
      await removeCreated(database);
      const samples: Sample[] = [];
      const stats = async () => (await (await fetch(`${receiver.url}/stats`)).json()) as Stats;
      const sampleOf = (target: string, round: number, rate: number, costs: Partial<Sample>): void => {
        const unknown = { p50: Number.NaN, p95: Number.NaN, p99: Number.NaN, cpu: Number.NaN, databaseCpu: Number.NaN };
        const rest = { memory: memoryOf(service.pid), foreign: Number.NaN, failed: 0 };
        samples.push({ operation: 'webhooks', target, round, rate, ...unknown, ...rest, ...costs });
      };
      // Deletes the webhooks that an interrupted run has not deleted.
      await database.query('delete from webhook');
      for (let round = 0; round < rounds; round += 1) {
        const webhooks = await register(
          client,
          Array.from({ length: receivers }, () => `${receiver.url}/hook`),
        );
        for (const id of webhooks)
          await client('POST', `/api/webhooks/${id}/replay`, { facilityId: facilityId(1), afterChangeNumber: 0 });
        await until(async () => (await stats()).received > 0);
        const before = { cpu: cpuOf(service.pid), database: cpuOfFamily(postmaster), at: performance.now() };
        await sleep(options.seconds * 1_000);
        const { received } = await stats();
        sampleOf('all healthy', round, (received / (performance.now() - before.at)) * 1_000, {
          cpu: (cpuOf(service.pid) - before.cpu) / received,
          databaseCpu: (cpuOfFamily(postmaster) - before.database) / received,
        });

        await remove(client, webhooks);
        const paths = Array.from({ length: receivers }, (_, index) => (index === 0 ? '/hang' : '/hook'));
        const mixed = await register(
          client,
          paths.map((path) => receiver.url + path),
        );
        await until(async () => (await stats()).received === 0);
        const created = await createBookings(client, options.seconds * 2);
        await sleep(2_500);
        const { received: arrived, late } = await stats();
        const expected = created * (receivers - 1);
        sampleOf('expected', round, expected, {});
        sampleOf('within 2 s', round, Math.min(arrived, expected) - late, {});
        await remove(client, mixed);
      }
      log(`webhooks: ${rounds} rounds of ${options.seconds} s`);
      await removeCreated(database);
      return samples;
    });
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await issuer.close();
  }
}

interface Stats {
  readonly received: number;
  readonly late: number;
}

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

let slot = 0;

/** Creates bookings at an even rate and returns their number. */
async function createBookings(client: Client, seconds: number): Promise<number> {
  const count = seconds * createsPerSecond;
  const start = performance.now();
  const requests: Promise<unknown>[] = [];
  for (let index = 0; index < count; index += 1, slot += 1) {
    const from = Date.parse(createdFrom) + Math.floor(slot / baysPerFacility) * 1_800_000;
    const [startDate, endDate] = [from, from + 1_800_000].map((time) => new Date(time).toISOString());
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
    if (performance.now() > end) throw new Error('the webhooks did not become ready within 30 s');
    await sleep(100);
  }
}
