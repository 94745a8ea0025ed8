// Are lists that a streaming replica answers as good as the primary's? Read-your-writes over two instances, with a replica that is late,
// killed and promoted. Real processes, a real replica. docs/decisions/0007.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { book, type Load, nextBooking, startLoad, waitForBookings } from './support/booking-load.ts';
import type { Instance } from './support/instance.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.ts';
import {
  expectNoLostOrDoubleBookings,
  printMeasurements,
  recordMeasurement,
  startTestSystem,
  type TestSystem,
} from './support/test-system.ts';
import { eventually } from './support/wait.ts';

let system: TestSystem;
let replica: Replica;
/** Between the instances and the replica. */
let proxy: TcpProxy;
let one: Instance;
let two: Instance;
let token: string;
let load: Load | undefined;
const working: Promise<void>[] = [];
let over = false;

beforeAll(async () => {
  system = await startTestSystem();
  replica = await startReplica(system.database);
  proxy = await startTcpProxy(replica.port);
  const environment = { DATABASE_READ_URL: system.database.urlOf('bookings', proxy.port) };
  ({ one, two, token } = await system.startServices(environment));
}, 90_000);
afterEach(async () => {
  await finish();
  await load?.stop();
  load = undefined;
});
afterAll(async () => {
  await proxy?.close();
  await replica?.remove();
  await system?.stop();
  printMeasurements();
}, 60_000);

/** Workers that go on until `finish`, or until the test ends otherwise. */
function start(count: number, work: (index: number, turn: number) => Promise<void>): void {
  const worker = async (index: number) => {
    for (let turn = 0; !over; turn += 1) await work(index, turn);
  };
  working.push(...Array.from({ length: count }, (_, index) => worker(index)));
}

async function finish(): Promise<void> {
  over = true;
  await Promise.all(working.splice(0));
  over = false;
}

async function list({ base }: Instance, path: string) {
  const started = performance.now();
  const response = await fetch(base + path, { headers: { Authorization: `Bearer ${token}` } });
  const body = (await response.json()) as { total: number; items: { externalBookingId: string }[] };
  return { status: response.status, ms: performance.now() - started, ...body };
}

const byExternalId = (id: string) => `/api/bookings?externalBookingIds=${id}`;

/** A booking made through one instance and looked for through the other. */
async function bookAndFind(makes: Instance, finds: Instance) {
  const booking = nextBooking();
  expect(await book(makes.base, token, booking)).toMatchObject({ status: 201 });
  const found = await list(finds, byExternalId(booking.externalBookingId));
  expect(found).toMatchObject({ status: 200, total: 1, items: [{ externalBookingId: booking.externalBookingId }] });
  return found;
}

const fromReplica = (instance: Instance) => instance.metric(/^database_reads_total.*source="replica"/);
const fromPrimary = (instance: Instance, reason = '') =>
  instance.metric(new RegExp(`^database_reads_total.*source="primary".*reason="${reason}`));
const servedByReplica = (instance: Instance) => async () => {
  const before = await fromReplica(instance);
  await list(instance, '/api/booking-locations');
  return (await fromReplica(instance)) > before;
};

test('a replica that keeps up answers every kind of list, and no list lacks a booking just made', async () => {
  await replica.caughtUp();
  await eventually(servedByReplica(two));
  const [served, other] = [await fromReplica(two), await fromPrimary(two)];
  for (let turn = 0; turn < 30; turn += 1) await bookAndFind(one, two);
  for (const path of ['/api/booking-bays?locationId=loc-north-1', '/api/bays/bay-n1-01/upcoming-bookings'])
    expect(await list(two, path)).toMatchObject({ status: 200, total: expect.any(Number) });
  // The end of a list's transaction; the metrics ask in none.
  const lists = "select from pg_stat_activity where usename = 'bookings_service' and query = 'commit'";
  await eventually(async () => (await replica.query(lists)).rowCount, 5_000);
  expect((await fromReplica(two)) - served + (await fromPrimary(two)) - other).toBe(32);
  expect((await fromReplica(two)) - served).toBeGreaterThan(0);
  expect(await two.metric(/^replica_lag_bytes/)).toBe(0);
}, 30_000);

test('a replica that stands still is waited for no longer than told, then the primary answers', async () => {
  const medianOf = async (turns: number): Promise<number> => {
    const times: number[] = [];
    for (let turn = 0; turn < turns; turn += 1) times.push((await bookAndFind(one, two)).ms);
    return times.toSorted((a, b) => a - b)[turns / 2] as number;
  };
  const inTime = await medianOf(20);
  await replica.query('select pg_wal_replay_pause()');
  const behind = await fromPrimary(two, 'behind');
  const late = await medianOf(40);
  expect(await fromPrimary(two, 'behind')).toBeGreaterThan(behind);
  expect(await fromPrimary(two, 'resting')).toBeGreaterThan(20);
  expect(late).toBeLessThan(10 * inTime);
  expect(await two.metric(/^replica_lag_bytes/)).toBeGreaterThan(0);
  expect(await two.ready()).toBe(true);
  await replica.query('select pg_wal_replay_resume()');
  await eventually(servedByReplica(two));
}, 30_000);

test('eight write and eight read through two instances: whoever was told of a booking finds it', async () => {
  const told: string[] = [];
  const missed: string[] = [];
  const [served, other] = [await fromReplica(two), await fromPrimary(two)];
  start(8, async (index, turn) => {
    const booking = nextBooking();
    const { status } = await book(((index + turn) % 2 ? one : two).base, token, booking);
    if (status === 201) told.push(booking.externalBookingId);
  });
  start(8, async (index, turn) => {
    const newest = told.at(-1);
    const found = await list((index + turn) % 2 ? one : two, newest ? byExternalId(newest) : '/api/booking-locations');
    if (found.status !== 200 || found.total === 0) missed.push(`${newest} ${found.status}`);
  });
  // Half of the time the replica stands still: now for less than a list may wait, now for more.
  start(1, async (_, turn) => {
    await replica.query('select pg_wal_replay_pause()');
    await new Promise((resolve) => setTimeout(resolve, (turn % 4) * 25));
    await replica.query('select pg_wal_replay_resume()');
    await new Promise((resolve) => setTimeout(resolve, 150));
  });
  const enough = async () => told.length > 200 && (await fromReplica(two)) > served + 50;
  await eventually(async () => (await enough()) && (await fromPrimary(two)) > other + 10, 60_000);
  await finish();
  expect(missed).toEqual([]);
}, 80_000);

test('a replica killed under load of lists and bookings: no request fails, and it serves again by itself', async () => {
  load = startLoad([one.base, two.base], token, { workers: 4, retry: false });
  const statuses = new Map<number, number>();
  start(4, async (index) => {
    const { status } = await list(index % 2 ? one : two, '/api/bookings?pageSize=5');
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  await waitForBookings(load, 50);
  await replica.kill();
  await waitForBookings(load, 200);
  expect(await one.ready()).toBe(true);
  expect(await fromPrimary(one, 'away')).toBeGreaterThan(0);
  const started = await system.startBookings({ DATABASE_READ_URL: replica.url });
  await bookAndFind(one, started);
  await replica.start();
  await Promise.all([one, two, started].map((instance) => eventually(servedByReplica(instance))));
  await finish();
  await expectNoLostOrDoubleBookings(system.database, load);
  expect(Object.keys(load.statuses())).toEqual(['201']);
  expect([...statuses.keys()]).toEqual([200]);
}, 40_000);

test('a replica that says nothing holds up what it was asked already, for three seconds, and nothing else', async () => {
  await eventually(servedByReplica(two));
  const slowest = { before: 0, after: 0 };
  const failed: number[] = [];
  let silent = false;
  start(4, async () => {
    const after = silent;
    const { status, ms } = await list(two, '/api/bookings?pageSize=5');
    if (status !== 200) failed.push(status);
    if (after) slowest.after = Math.max(slowest.after, ms);
    else slowest.before = Math.max(slowest.before, ms);
  });
  proxy.freeze();
  await eventually(async () => (await fromPrimary(two, 'away')) > 0);
  silent = true;
  const resting = await fromPrimary(two, 'resting');
  await eventually(async () => (await fromPrimary(two, 'resting')) > resting + 300);
  expect(await two.ready()).toBe(true);
  proxy.thaw();
  await eventually(servedByReplica(two));
  await finish();
  expect(failed).toEqual([]);
  expect(slowest.before).toBeLessThan(3_500);
  recordMeasurement('replica silent', slowest);
}, 30_000);

test('a list that recovery cancels on the replica is answered by the primary, and the replica goes on', async () => {
  // Recovery may not wait for a list: an exclusive lock in the stream of WAL cancels whoever reads the table.
  await eventually(servedByReplica(two));
  const conflicts = await fromPrimary(two, 'conflict');
  const failed: number[] = [];
  start(4, async () => {
    const { status } = await list(two, '/api/bookings?pageSize=1000');
    if (status !== 200) failed.push(status);
  });
  const rewrite = 'begin; lock table booking; select pg_sleep(0.02); commit';
  await eventually(async () => {
    await system.database.query('bookings', rewrite);
    return (await fromPrimary(two, 'conflict')) > conflicts;
  });
  await finish();
  expect(failed).toEqual([]);
  await eventually(servedByReplica(two));
}, 40_000);

test('a replica promoted by mistake answers no list any more, nor one that follows what is no longer the primary', async () => {
  await eventually(servedByReplica(two));
  await replica.query('select pg_promote()');
  const served = await fromReplica(two);
  const foundForeign = (makes: Instance, finds: Instance) =>
    eventually(async () => {
      await bookAndFind(makes, finds);
      return (await fromPrimary(finds, 'foreign')) > 0;
    });
  await foundForeign(one, two);
  for (let turn = 0; turn < 20; turn += 1) await bookAndFind(one, two);
  expect(await fromReplica(two)).toBe(served);
  // It follows the old history, further than the new primary has come.
  const follower = await startReplica(system.database);
  try {
    const three = await system.startBookings({ DATABASE_URL: replica.url, DATABASE_READ_URL: follower.url });
    const onOld = nextBooking();
    await book(one.base, token, onOld);
    await follower.caughtUp();
    expect(await list(three, byExternalId(onOld.externalBookingId))).toMatchObject({ status: 200, total: 0 });
    await foundForeign(three, three);
    expect(await fromReplica(three)).toBe(0);
  } finally {
    await follower.remove();
  }
}, 60_000);
