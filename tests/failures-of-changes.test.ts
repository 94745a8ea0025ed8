// Tests failures of the Bookings API, its database and webhook receivers while clients change bookings. After the
// failures, the change feed and every webhook must have reported the latest change of every booking. FAULT_REPORT=1
// prints the measurements.
import type { ServerResponse } from 'node:http';
import { useFixture } from '@bay-booking/testkit/fixture';
import { eventually } from '@bay-booking/testkit/wait';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { callApi } from './support/api.ts';
import { type BookingWriters, startBookingWriters } from './support/booking-writers.ts';
import { runCommand } from './support/commands.ts';
import { type FeedReader, startFeedReader } from './support/feed-reader.ts';
import type { Instance } from './support/instance.ts';
import { recordMeasurement, timeUntil } from './support/measurements.ts';
import { getToken, startTestSystem } from './support/test-system.ts';
import {
  type BookingReceiver,
  type LatestEvent,
  startBookingReceiver,
  webhookEnvironment,
} from './support/webhook-receiver.ts';

const facilities = ['fac-north', 'fac-south'];

const system = useFixture(startTestSystem);
let token: string;
let instances: Instance[] = [];
/** The addresses of the running instances. Writers and readers use this array, so a test can replace an address. */
let bases: string[];
let writers: BookingWriters | undefined;
let readers: FeedReader[] = [];
const receivers: BookingReceiver[] = [];

beforeAll(async () => {
  // The service account of the partner gets a role at both facilities.
  const memberships = facilities.map((facilityId) => ({ facilityId, role: 'facility-manager' }));
  const accounts = [{ id: 'acc-manager-north', username: 'manager@north.example', kind: 'service', memberships }];
  const environment = { DATABASE_URL: system.database.ownerUrlOf('auth') };
  await runCommand('auth', environment, 'import.ts', JSON.stringify({ accounts }));
  token = await getToken((await system.startAuth()).base);
  instances = await Promise.all([1, 2].map(() => system.startBookings(webhookEnvironment)));
  bases = instances.map(({ base }) => base);
});
afterEach(async () => {
  await writers?.stop();
  await Promise.all(readers.map((reader) => reader.stop()));
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

/** Sends a request to the first instance, and expects success. Returns the body of the response. */
async function call<Body>(method: string, path: string, body?: object): Promise<Body> {
  const response = await callApi<Body>(bases[0] as string, token, method, path, body);
  expect([200, 201, 202]).toContain(response.status);
  return response.body;
}

/** Starts a receiver and registers its webhook. Returns the receiver and the API path of the webhook. */
async function registerReceiver(): Promise<{ readonly receiver: BookingReceiver; readonly path: string }> {
  const receiver = await startBookingReceiver();
  receivers.push(receiver);
  const { id, secret } = await call<{ id: string; secret: string }>('POST', '/api/webhooks', { url: receiver.url });
  receiver.setSecret(secret);
  return { receiver, path: `/api/webhooks/${id}` };
}

const startReaders = (): void => {
  readers = facilities.map((facility) => startFeedReader(bases, token, facility));
};

/** Waits until the writers have got responses to `count` further writes. */
const waitForWrites = (count: number) => {
  const target = (writers?.writes() ?? 0) + count;
  return eventually(async () => (writers?.writes() ?? 0) >= target);
};

/** Kills an instance and starts another one in its place. */
async function replace(index: number): Promise<void> {
  await instances[index]?.stop('SIGKILL');
  const newInstance = await system.startBookings(webhookEnvironment);
  instances[index] = newInstance;
  bases[index] = newInstance.base;
}

/** Returns one line of text for each booking with its latest change, so that two sources can be compared. */
const linesOf = (changes: Iterable<readonly [string, LatestEvent]>): string[] =>
  [...changes].map(([key, { modified, isDeleted, booking }]) => {
    const { bayId, userAlias, startDate, endDate, lastUpdatedAt } = booking;
    const state = isDeleted ? 'deleted' : [bayId, userAlias, startDate, endDate, lastUpdatedAt].join(' ');
    return `${key} at ${modified}: ${state}`;
  });

/**
 * Returns the latest change of every booking in the database, as lines of text. The change feed must have been read to
 * its end before, because reading gives the changes their numbers.
 */
async function changesInDatabase(): Promise<string[]> {
  const { rows } = await system.database.query(
    'bookings',
    // A deleted booking has a change, and no row in `booking`.
    `select coalesce(c.facility_id, b.facility_id) || ' ' || coalesce(c.booking_id, b.id) as key,
       c.number::int as modified, b.id is null as "isDeleted", bay_id as "bayId", user_alias as "userAlias",
       start_date as "startDate", end_date as "endDate", last_updated_at as "lastUpdatedAt"
     from (select * from booking_change where latest) c
     full join booking b on b.facility_id = c.facility_id and b.id = c.booking_id`,
  );
  return linesOf(
    rows.map(({ key, modified, isDeleted, ...columns }) => {
      const times = ['startDate', 'endDate', 'lastUpdatedAt'].map((name) => [name, columns[name]?.toISOString()]);
      return [key, { modified, isDeleted, booking: { ...columns, ...Object.fromEntries(times) } }];
    }),
  );
}

/** Returns the latest changes that readers or receivers have got, as lines of text. */
const reportedBy = (sources: readonly { readonly latest: ReadonlyMap<string, LatestEvent> }[]): string[] =>
  sources.flatMap(({ latest }) => linesOf(latest));

/** Returns the first differences: lines that were not reported, and reported lines that are wrong. */
const difference = (expected: readonly string[], reported: readonly string[]) => {
  const [lines, reportedLines] = [new Set(expected), new Set(reported)];
  return {
    missing: expected.filter((line) => !reportedLines.has(line)).slice(0, 5),
    wrong: reported.filter((line) => !lines.has(line)).slice(0, 5),
  };
};
const noDifference = { missing: [], wrong: [] };

/**
 * Stops the writers and readers. Expects that the feed has reported all changes in the database, in their order.
 * Returns these changes as lines of text.
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

/** Whether the receiver has got exactly the expected changes. */
function hasReceivedAll(expected: readonly string[], receiver: BookingReceiver): boolean {
  const { missing, wrong } = difference(expected, reportedBy([receiver]));
  return missing.length + wrong.length === 0;
}

async function killInstancesAndDatabase(): Promise<void> {
  await waitForWrites(30);
  await system.database.kill();
  await system.database.start();
  await waitForWrites(30);
  await Promise.all([replace(0), replace(1)]);
  await waitForWrites(30);
  await system.database.stop();
  await system.database.start();
  await waitForWrites(30);
}

/** Makes all pending deliveries due, because the delays between attempts are minutes and hours long. */
const makeDeliveriesDue = () =>
  system.database.query('bookings', "update webhook_delivery set next_attempt_at = now() where state = 'pending'");

test('feed and webhooks report every change, although all instances and the database are killed', async () => {
  const reliable = await registerReceiver();
  const hanging = await registerReceiver();
  const failing = await registerReceiver();
  const gone = await registerReceiver();
  const redirecting = await registerReceiver();
  const unanswered: ServerResponse[] = [];
  hanging.receiver.respondWith((_request, response) => void unanswered.push(response));
  failing.receiver.respondWith((_request, response) => void response.writeHead(500).end());
  gone.receiver.respondWith((_request, response) => void response.writeHead(410).end());
  const headers = { Location: reliable.receiver.url.replace('/hook', '/elsewhere') };
  redirecting.receiver.respondWith((_request, response) => void response.writeHead(302, headers).end());
  startReaders();
  writers = startBookingWriters(bases, token, 8);
  await killInstancesAndDatabase();
  const expected = await expectCompleteFeed();

  // If an instance was killed during a delivery attempt, another instance repeats the attempt after up to 30 s.
  const complete = await timeUntil(async () => hasReceivedAll(expected, reliable.receiver));
  expect(await call('GET', gone.path)).toMatchObject({ state: 'disabled' });
  const brokenReceivers = [hanging, failing, gone, redirecting].map(({ receiver }) => receiver);
  for (const receiver of brokenReceivers) {
    expect(receiver.events).not.toHaveLength(0);
    expect(receiver.latest.size).toBe(0);
    receiver.acceptEvents();
  }
  for (const response of unanswered) response.destroy();
  // A disabled webhook gets no events. The test activates it again, and a replay sends the events that it has missed.
  await call('PUT', gone.path, { url: gone.receiver.url, state: 'active' });
  for (const facilityId of facilities) await call('POST', `${gone.path}/replay`, { facilityId, afterChangeNumber: 0 });
  const repaired = await timeUntil(async () => {
    await makeDeliveriesDue();
    return brokenReceivers.every((receiver) => hasReceivedAll(expected, receiver));
  });
  // Only a client that follows redirects would request another path.
  expect(new Set(reliable.receiver.events.map(({ path }) => path))).toEqual(new Set(['/hook']));
  const requests = receivers.map(({ events }) => events.length);
  recordMeasurement('webhooks', { changes: expected.length, complete, repaired, requests });
}, 400_000);
