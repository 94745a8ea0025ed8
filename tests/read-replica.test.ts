// Tests lists from a streaming replica (docs/decisions/0007-lists-from-a-replica.md). Two instances of bookings use one
// replica. The tests pause, kill, freeze and promote the replica. A list must always contain every booking that was
// acknowledged before the request. Availability, holds and the change feed must show the newest changes, too.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { callApi } from './support/api.ts';
import { expectAvailabilityAndHolds, expectChanges } from './support/availability-and-changes.ts';
import { book, type Load, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
import type { Instance } from './support/instance.ts';
import { printMeasurements, recordMeasurement } from './support/measurements.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.ts';
import { startTestSystem, stopLoadAndExpectNoLostOrDoubleBookings, type TestSystem } from './support/test-system.ts';
import { eventually } from './support/wait.ts';
import { webhookEnvironment } from './support/webhook-receiver.ts';

let system: TestSystem;
let replica: Replica;
/** The proxy between the instances and the replica. */
let proxy: TcpProxy;
let firstInstance: Instance;
let secondInstance: Instance;
let token: string;
let load: Load | undefined;
/** The loops that the current test runs in the background. Each promise settles when its loop has ended. */
const workers: Promise<void>[] = [];
let isStopping = false;

beforeAll(async () => {
  system = await startTestSystem();
  replica = await startReplica(system.database);
  proxy = await startTcpProxy(replica.port);
  const environment = {
    DATABASE_READ_URL: system.database.urlOf('bookings', proxy.port),
    ...webhookEnvironment,
  };
  ({ firstInstance, secondInstance, token } = await system.startServices(environment));
}, 90_000);
afterEach(async () => {
  await stopWorkers();
  await load?.stop();
  load = undefined;
});
afterAll(async () => {
  await proxy?.close();
  await replica?.remove();
  await system?.close();
  printMeasurements();
}, 60_000);

/**
 * Starts workers that call `work` in a loop until `stopWorkers` is called or the test ends. `index` is the number of
 * the worker, and `turn` the number of its calls so far.
 */
function startWorkers(count: number, work: (index: number, turn: number) => Promise<void>): void {
  const worker = async (index: number) => {
    for (let turn = 0; !isStopping; turn += 1) await work(index, turn);
  };
  workers.push(...Array.from({ length: count }, (_, index) => worker(index)));
}

async function stopWorkers(): Promise<void> {
  isStopping = true;
  await Promise.all(workers.splice(0));
  isStopping = false;
}

/** Requests a list, and measures the duration of the request in milliseconds. */
async function list({ base }: Instance, path: string) {
  const start = performance.now();
  const { status, body } = await callApi<{ total: number; items: object[] }>(base, token, 'GET', path);
  return { ...body, status, duration: performance.now() - start };
}

const byExternalId = (id: string) => `/api/bookings?externalBookingIds=${id}`;

/**
 * Creates a booking through one instance, and expects the booking in a list of the other instance. Returns the list.
 */
async function bookAndFind(writer: Instance, reader: Instance) {
  const booking = nextBooking();
  expect(await book(writer.base, token, booking)).toMatchObject({ status: 201 });
  const found = await list(reader, byExternalId(booking.externalBookingId));
  expect(found).toMatchObject({ status: 200, total: 1, items: [{ externalBookingId: booking.externalBookingId }] });
  return found;
}

const readsFromReplica = (instance: Instance) => instance.metric(/^database_reads_total.*source="replica"/);
/**
 * Returns the number of lists that came from the primary, for all reasons or for one reason. The tests use these
 * reasons:
 * - `behind`: the replica has not replayed the latest changes
 * - `away`: the replica is unavailable
 * - `resting`: an attempt to use the replica ended as `behind`, `away` or `foreign` a short time ago, so the circuit
 *   breaker does not allow another attempt yet
 * - `conflict`: the replica cancelled the query
 * - `foreign`: the replica does not follow the primary
 */
const readsFromPrimary = (instance: Instance, reason = '') =>
  instance.metric(new RegExp(`^database_reads_total.*source="primary".*reason="${reason}`));
const waitForReplicaReads = (instance: Instance) =>
  eventually(async () => {
    const before = await readsFromReplica(instance);
    await list(instance, '/api/booking-locations');
    return (await readsFromReplica(instance)) > before;
  });

test('every kind of list can come from an up-to-date replica, and contains the newest booking', async () => {
  await replica.catchUp();
  await waitForReplicaReads(secondInstance);
  const [replicaReads, primaryReads] = [await readsFromReplica(secondInstance), await readsFromPrimary(secondInstance)];
  for (let turn = 0; turn < 30; turn += 1) await bookAndFind(firstInstance, secondInstance);
  for (const path of ['/api/booking-bays?locationId=loc-north-1', '/api/bays/bay-n1-01/upcoming-bookings'])
    expect(await list(secondInstance, path)).toMatchObject({ status: 200, total: expect.any(Number) });
  // The queries of a list run in a transaction, so `commit` is the last statement of a session that has read a list.
  const sessionsAfterList = "select from pg_stat_activity where usename = 'bookings_service' and query = 'commit'";
  await eventually(async () => (await replica.query(sessionsAfterList)).rowCount, 5_000);
  // Each of the 30 bookings was searched in a list, and two other lists were requested.
  expect(
    (await readsFromReplica(secondInstance)) - replicaReads + (await readsFromPrimary(secondInstance)) - primaryReads,
  ).toBe(32);
  expect((await readsFromReplica(secondInstance)) - replicaReads).toBeGreaterThan(0);
  expect(await secondInstance.metric(/^replica_lag_bytes/)).toBe(0);
}, 30_000);

// The replica can cancel these statements when it replays changes. `eventually` then repeats them.
const pauseReplay = () => eventually(() => replica.query('select pg_wal_replay_pause()'));
const resumeReplay = () => eventually(() => replica.query('select pg_wal_replay_resume()'));

test('availability, holds and the change feed show the newest changes, also while the replica is behind', async () => {
  const instances = { writer: firstInstance.base, reader: secondInstance.base, token };
  await expectAvailabilityAndHolds(instances);
  await expectChanges(instances);
  await pauseReplay();
  try {
    await expectAvailabilityAndHolds(instances);
    await expectChanges(instances);
  } finally {
    await resumeReplay();
  }
}, 60_000);

test('while replay is paused, lists come from the primary, and most of them do not wait for the replica', async () => {
  /** `turns` must be even, so that `turns / 2` is an index. */
  const medianDuration = async (turns: number): Promise<number> => {
    const times: number[] = [];
    for (let turn = 0; turn < turns; turn += 1) times.push((await bookAndFind(firstInstance, secondInstance)).duration);
    return times.toSorted((a, b) => a - b)[turns / 2] as number;
  };
  const upToDateMedian = await medianDuration(20);
  await pauseReplay();
  const behindReads = await readsFromPrimary(secondInstance, 'behind');
  const behindMedian = await medianDuration(40);
  expect(await readsFromPrimary(secondInstance, 'behind')).toBeGreaterThan(behindReads);
  expect(await readsFromPrimary(secondInstance, 'resting')).toBeGreaterThan(20);
  // Most requests do not wait for the replica: after one request has waited in vain, the circuit breaker sends the next
  // requests to the primary immediately.
  expect(behindMedian).toBeLessThan(10 * upToDateMedian);
  expect(await secondInstance.metric(/^replica_lag_bytes/)).toBeGreaterThan(0);
  expect(await secondInstance.isReady()).toBe(true);
  await resumeReplay();
  await waitForReplicaReads(secondInstance);
}, 30_000);

test('with eight writers and eight readers on two instances, every acknowledged booking is found', async () => {
  const acknowledged: string[] = [];
  const missed: string[] = [];
  const [replicaReads, primaryReads] = [await readsFromReplica(secondInstance), await readsFromPrimary(secondInstance)];
  startWorkers(8, async (index, turn) => {
    const booking = nextBooking();
    const { status } = await book(((index + turn) % 2 ? firstInstance : secondInstance).base, token, booking);
    if (status === 201) acknowledged.push(booking.externalBookingId);
  });
  startWorkers(8, async (index, turn) => {
    const newest = acknowledged.at(-1);
    const found = await list(
      (index + turn) % 2 ? firstInstance : secondInstance,
      newest ? byExternalId(newest) : '/api/booking-locations',
    );
    if (found.status !== 200 || found.total === 0) missed.push(`${newest} ${found.status}`);
  });
  // The replica repeatedly pauses its replay, for 0, 25, 50 or 75 ms. Some of these pauses are shorter than the time
  // for which a list waits for the replica, and some are longer.
  startWorkers(1, async (_, turn) => {
    await pauseReplay();
    await new Promise((resolve) => setTimeout(resolve, (turn % 4) * 25));
    await resumeReplay();
    await new Promise((resolve) => setTimeout(resolve, 150));
  });
  const hasReadBoth = async () =>
    (await readsFromReplica(secondInstance)) > replicaReads + 50 &&
    (await readsFromPrimary(secondInstance)) > primaryReads + 10;
  await eventually(async () => acknowledged.length > 200 && (await hasReadBoth()), 60_000);
  await stopWorkers();
  expect(missed).toEqual([]);
}, 80_000);

test('no request fails when the replica is killed under load, and lists use it again after its restart', async () => {
  load = startLoad([firstInstance.base, secondInstance.base], token, { workers: 4, retry: false });
  const statuses = new Map<number, number>();
  startWorkers(4, async (index) => {
    const { status } = await list(index % 2 ? firstInstance : secondInstance, '/api/bookings?pageSize=5');
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  await waitForBookings(load, 50);
  await replica.kill();
  await waitForBookings(load, 200);
  expect(await firstInstance.isReady()).toBe(true);
  expect(await readsFromPrimary(firstInstance, 'away')).toBeGreaterThan(0);
  const newInstance = await system.startBookings({ DATABASE_READ_URL: replica.url });
  await bookAndFind(firstInstance, newInstance);
  await replica.start();
  await Promise.all([firstInstance, secondInstance, newInstance].map(waitForReplicaReads));
  await stopWorkers();
  await stopLoadAndExpectNoLostOrDoubleBookings(system.database, load);
  expect(Object.keys(load.statuses())).toEqual(['201']);
  expect([...statuses.keys()]).toEqual([200]);
}, 40_000);

test('a replica that stops responding delays the lists that it is already processing by less than 3.5 s', async () => {
  await waitForReplicaReads(secondInstance);
  /** The durations of the slowest list requests that start before and after the service has noticed the failure. */
  const slowest = { before: 0, after: 0 };
  const failedStatuses: number[] = [];
  let isCircuitOpen = false;
  startWorkers(4, async () => {
    const startedAfter = isCircuitOpen;
    const { status, duration } = await list(secondInstance, '/api/bookings?pageSize=5');
    if (status !== 200) failedStatuses.push(status);
    if (startedAfter) slowest.after = Math.max(slowest.after, duration);
    else slowest.before = Math.max(slowest.before, duration);
  });
  proxy.freeze();
  await eventually(async () => (await readsFromPrimary(secondInstance, 'away')) > 0);
  isCircuitOpen = true;
  // The measurement is significant only if many lists are requested while the circuit breaker is open.
  const restingReads = await readsFromPrimary(secondInstance, 'resting');
  await eventually(async () => (await readsFromPrimary(secondInstance, 'resting')) > restingReads + 300);
  expect(await secondInstance.isReady()).toBe(true);
  proxy.resume();
  await waitForReplicaReads(secondInstance);
  await stopWorkers();
  expect(failedStatuses).toEqual([]);
  expect(slowest.before).toBeLessThan(3_500);
  recordMeasurement('replica silent', slowest);
}, 30_000);

test('a list that the replica cancels comes from the primary, and later lists come from the replica', async () => {
  // The replica does not wait for queries. When it replays an exclusive lock of a table, it cancels every query that
  // reads the table.
  await waitForReplicaReads(secondInstance);
  const conflicts = await readsFromPrimary(secondInstance, 'conflict');
  const failedStatuses: number[] = [];
  startWorkers(4, async () => {
    const { status } = await list(secondInstance, '/api/bookings?pageSize=1000');
    if (status !== 200) failedStatuses.push(status);
  });
  const lockTable = 'begin; lock table booking; select pg_sleep(0.02); commit';
  await eventually(async () => {
    await system.database.query('bookings', lockTable);
    return (await readsFromPrimary(secondInstance, 'conflict')) > conflicts;
  });
  await stopWorkers();
  expect(failedStatuses).toEqual([]);
  await waitForReplicaReads(secondInstance);
}, 40_000);

test('no list comes from a replica that was promoted or that follows another primary', async () => {
  await waitForReplicaReads(secondInstance);
  await replica.query('select pg_promote()');
  const replicaReads = await readsFromReplica(secondInstance);
  /** Waits until the reader has noticed that its replica does not follow the primary of the writer. */
  const waitUntilForeign = (writer: Instance, reader: Instance) =>
    eventually(async () => {
      await bookAndFind(writer, reader);
      return (await readsFromPrimary(reader, 'foreign')) > 0;
    });
  await waitUntilForeign(firstInstance, secondInstance);
  for (let turn = 0; turn < 20; turn += 1) await bookAndFind(firstInstance, secondInstance);
  expect(await readsFromReplica(secondInstance)).toBe(replicaReads);
  // This replica follows the old primary, which has written more WAL than the promoted server. Comparing only WAL
  // positions would accept this replica.
  const follower = await startReplica(system.database);
  try {
    const instanceOnPromoted = await system.startBookings({
      DATABASE_URL: replica.url,
      DATABASE_READ_URL: follower.url,
    });
    const bookingOnOldPrimary = nextBooking();
    await book(firstInstance.base, token, bookingOnOldPrimary);
    await follower.catchUp();
    expect(await list(instanceOnPromoted, byExternalId(bookingOnOldPrimary.externalBookingId))).toMatchObject({
      status: 200,
      total: 0,
    });
    await waitUntilForeign(instanceOnPromoted, instanceOnPromoted);
    expect(await readsFromReplica(instanceOnPromoted)).toBe(0);
  } finally {
    await follower.remove();
  }
}, 60_000);
