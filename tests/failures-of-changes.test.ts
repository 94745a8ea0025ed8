// Tests failures of bookings, the database and webhook receivers while bookings change. After each failure, the change
// feed and every webhook must have reported exactly the bookings that are in the table.
//
// FAULT_REPORT=1 prints the measurements.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type BookingWriters, startBookingWriters } from './support/booking-writers.ts';
import { readDemo, runCommand } from './support/commands.ts';
import { type FeedReader, startFeedReader } from './support/feed-reader.ts';
import type { Instance } from './support/instance.ts';
import {
  getToken,
  printMeasurements,
  recordMeasurement,
  startTestSystem,
  type TestSystem,
} from './support/test-system.ts';
import { eventually, timeUntil } from './support/wait.ts';
import { healthy, type LatestEvent, startWebhookReceiver, type WebhookReceiver } from './support/webhook-receiver.ts';

const environment = {
  WEBHOOK_KEY: Buffer.alloc(32, 'webhooks').toString('base64'),
  WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
};
const facilities = ['fac-north', 'fac-south'];

let system: TestSystem;
let token: string;
let instances: Instance[];
/** The addresses of the running instances. Writers and readers use this array, so a test can replace an address. */
let bases: string[];
let writers: BookingWriters | undefined;
let readers: FeedReader[] = [];
const receivers: WebhookReceiver[] = [];

beforeAll(async () => {
  system = await startTestSystem();
  const memberships = facilities.map((facilityId) => ({ facilityId, role: 'bookings-manager' }));
  const accounts = [{ id: 'acc-bot-north', username: 'bot-north@example.com', kind: 'service', memberships }];
  await runCommand(
    'auth',
    { DATABASE_URL: system.database.ownerUrlOf('auth') },
    'import.ts',
    JSON.stringify({ accounts }),
  );
  token = await getToken((await system.startAuth()).base);
}, 90_000);
beforeEach(async () => {
  instances = await Promise.all([1, 2].map(() => system.startBookings(environment)));
  bases = instances.map(({ base }) => base);
}, 30_000);
afterEach(async () => {
  await writers?.stop();
  await Promise.all([...readers.map((reader) => reader.stop()), ...instances.map((one) => one.stop('SIGKILL'))]);
  writers = undefined;
  readers = [];
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
}, 30_000);
afterAll(async () => {
  await system?.stop();
  printMeasurements();
}, 60_000);

const call = async (method: string, path: string, body?: object) => {
  const response = await fetch((bases[0] as string) + path, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect({ path, status: response.status, ok: response.ok, text }).toMatchObject({ ok: true });
  return text ? JSON.parse(text) : undefined;
};

async function registerReceiver(): Promise<{ readonly receiver: WebhookReceiver; readonly path: string }> {
  const receiver = await startWebhookReceiver();
  receivers.push(receiver);
  const { id, secret } = await call('POST', '/api/webhooks', { url: receiver.url });
  receiver.setSecret(secret);
  return { receiver, path: `/api/webhooks/${id}` };
}

const startReaders = (): FeedReader[] => {
  readers = facilities.map((facility) => startFeedReader(bases, token, facility));
  return readers;
};

const waitForWrites = (more: number) => {
  const from = writers?.writes() ?? 0;
  return eventually(async () => (writers?.writes() ?? 0) >= from + more);
};

/** Replaces an instance. With SIGTERM, the new instance gets the requests before the old instance ends. */
async function replace(index: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const old = instances[index] as Instance;
  if (signal === 'SIGKILL') await old.stop(signal);
  const next = await system.startBookings(environment);
  instances[index] = next;
  bases[index] = next.base;
  if (signal === 'SIGTERM') expect(await old.stop(signal)).toBe(0);
}

/** Returns one line for each booking with its latest change, so that two sources can be compared. */
const linesOf = (changes: Iterable<readonly [string, LatestEvent]>): string[] =>
  [...changes].map(([key, { modified, isDeleted, booking }]) => {
    const { bayId, userAlias, startDate, endDate, lastUpdatedAt } = booking;
    const state = isDeleted ? 'deleted' : [bayId, userAlias, startDate, endDate, lastUpdatedAt].join(' ');
    return `${key} at ${modified}: ${state}`;
  });

/** Reads the changes from the database. Every change has its number, because the feed was read to its end before. */
async function changesInDatabase(): Promise<string[]> {
  const { rows } = await system.database.query(
    'bookings',
    `select coalesce(f.facility_id, b.facility_id) || ' ' || coalesce(f.booking_id, b.id) as key, f.number::int as modified,
       b.id is null as "isDeleted", bay_id as "bayId", user_alias as "userAlias", start_date as "startDate",
       end_date as "endDate", last_updated_at as "lastUpdatedAt"
     from booking_feed f full join booking b on b.facility_id = f.facility_id and b.id = f.booking_id`,
  );
  return linesOf(
    rows.map(({ key, modified, isDeleted, ...columns }) => {
      const times = ['startDate', 'endDate', 'lastUpdatedAt'].map((name) => [name, columns[name]?.toISOString()]);
      return [key, { modified, isDeleted, booking: { ...columns, ...Object.fromEntries(times) } }];
    }),
  );
}

const reportedBy = (sources: readonly { readonly latest: ReadonlyMap<string, LatestEvent> }[]): string[] =>
  sources.flatMap(({ latest }) => linesOf(latest));

const difference = (expected: readonly string[], reported: readonly string[]) => ({
  missing: expected.filter((line) => !new Set(reported).has(line)).slice(0, 5),
  wrong: reported.filter((line) => !new Set(expected).has(line)).slice(0, 5),
});
const noDifference = { missing: [], wrong: [] };

/**
 * Stops the writers and readers. Expects that the feed has reported, in order, all changes that are in the database.
 */
async function expectCompleteFeed(): Promise<string[]> {
  await writers?.stop();
  expect(writers?.unexpectedStatuses).toEqual([]);
  await Promise.all(readers.map((reader) => reader.stop()));
  for (const { outOfOrder, unexpectedStatuses } of readers)
    expect({ outOfOrder, unexpectedStatuses }).toEqual({ outOfOrder: [], unexpectedStatuses: [] });
  const expected = await changesInDatabase();
  expect(difference(expected, reportedBy(readers))).toEqual(noDifference);
  return expected;
}

const hasReceivedAll = (expected: readonly string[], receiver: WebhookReceiver) => async () => {
  const { missing, wrong } = difference(expected, reportedBy([receiver]));
  return missing.length + wrong.length === 0;
};

test('after kill -9 of every instance and crashes of the database, feed and receivers have reported every change', async () => {
  const [reliable, hanging, failing, gone, redirecting] = [
    await registerReceiver(),
    await registerReceiver(),
    await registerReceiver(),
    await registerReceiver(),
    await registerReceiver(),
  ];
  hanging.receiver.setBehaviour({ kind: 'hang' });
  failing.receiver.setBehaviour({ kind: 'respond', status: 500 });
  gone.receiver.setBehaviour({ kind: 'respond', status: 410 });
  const headers = { Location: reliable.receiver.url.replace('/hook', '/elsewhere') };
  redirecting.receiver.setBehaviour({ kind: 'respond', status: 302, headers });
  startReaders();
  writers = startBookingWriters(bases, token, 8);
  await waitForWrites(200);
  await Promise.all([replace(0, 'SIGKILL'), replace(1, 'SIGKILL')]);
  await waitForWrites(200);
  await system.database.kill();
  await system.database.start();
  await waitForWrites(200);
  await system.database.stop();
  await system.database.start();
  await waitForWrites(100);
  await Promise.all([replace(0, 'SIGKILL'), replace(1, 'SIGKILL')]);
  await waitForWrites(100);
  const expected = await expectCompleteFeed();

  // If a killed instance had begun a delivery attempt, another instance repeats it when the lease of the attempt ends.
  const complete = await timeUntil(hasReceivedAll(expected, reliable.receiver), 60_000);
  expect(await call('GET', gone.path)).toMatchObject({ state: 'disabled' });
  for (const { receiver } of [hanging, failing, gone, redirecting]) {
    expect(receiver.requests()).toBeGreaterThan(0);
    expect(receiver.latest.size).toBe(0);
    receiver.setBehaviour(healthy);
  }
  await call('PUT', gone.path, { url: gone.receiver.url, state: 'active' });
  for (const facilityId of facilities) await call('POST', `${gone.path}/replay`, { facilityId, afterChangeNumber: 0 });
  const repaired = await timeUntil(async () => {
    // The delays between attempts are minutes and hours long, so the test makes all pending deliveries due.
    await system.database.query(
      'bookings',
      "update webhook_delivery set next_attempt_at = now() where state = 'pending'",
    );
    for (const { receiver } of [hanging, failing, gone, redirecting])
      if (!(await hasReceivedAll(expected, receiver)())) return false;
    return true;
  }, 60_000);
  expect(reliable.receiver.unexpectedPaths).toEqual([]);
  const requests = receivers.map((receiver) => receiver.requests());
  recordMeasurement('webhooks', { changes: expected.length, complete, repaired, requests });
}, 180_000);

test('with 32 writers, a reader misses no change during restarts, moves between facilities and imports', async () => {
  const following = startReaders();
  writers = startBookingWriters(bases, token, 32);
  await waitForWrites(300);
  const demo = await readDemo('bookings');
  await runCommand('bookings', { DATABASE_URL: system.database.ownerUrlOf('bookings') }, 'import.ts', demo);
  await replace(0, 'SIGTERM');
  await waitForWrites(300);
  await replace(1, 'SIGKILL');
  await system.database.kill();
  await system.database.start();
  await runCommand('bookings', { DATABASE_URL: system.database.ownerUrlOf('bookings') }, 'import.ts', demo);
  await waitForWrites(300);
  const expected = await expectCompleteFeed();
  recordMeasurement('feed', { changes: expected.length, writes: writers.writes(), readers: following.length });
}, 120_000);
