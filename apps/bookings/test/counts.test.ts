// Tests that the counts of bookings stay correct during concurrent writes, compactions, recounts and imports.
import { connectDatabase, query, transaction } from '@bay-booking/service/database/database';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Criteria } from '../src/bookings/search/conditions.ts';
import { createSearchStore } from '../src/bookings/search/store.ts';
import { bookingState } from '../src/bookings/storage/columns.ts';
import { compactChanges } from '../src/changes/compaction.ts';
import { recount } from '../src/changes/recount.ts';
import { bookingBody } from './support/booking-requests.ts';
import { isTransactionWaiting } from './support/lock-waits.ts';
import { importPlaces, places } from './support/places.ts';
import { closeExtraSystems, createExtraSystem, createTestSystem, type TestSystem } from './support/test-system.ts';
import { until } from './support/until.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterEach(closeExtraSystems);
afterAll(() => system.close());

const facilities = ['fac-north', 'fac-south'];
const now = new Date();
/** The PostgreSQL error for overlapping bookings of a bay. */
const exclusionViolation = '23P01';

const countRows = async (where: string): Promise<number> => {
  const [row] = await query<{ n: number }>(system.db, `select count(*)::int as n from booking where ${where}`);
  // -1 differs from every count, so a missing row fails the test.
  return row?.n ?? -1;
};

/**
 * Compares counts with the number of rows, for the bookings of each facility and of each location, for the bookings
 * before an instant, and for the active bookings.
 */
async function expectRightCounts(): Promise<void> {
  const { search } = createSearchStore(system.db);
  // A page that is full does not show the total, so the store counts.
  const count = async (criteria: Criteria) => (await search(criteria, { page: 1, pageSize: 1 })).total;
  for (const facility of facilities) {
    expect(await count({ facilities: [facility], now })).toBe(await countRows(`facility_id = '${facility}'`));
  }
  for (const location of ['loc-north-1', 'loc-north-2', 'loc-south-1']) {
    const counted = await count({ facilities, locationIds: [location], now });
    expect(counted).toBe(await countRows(`location_id = '${location}'`));
  }
  // The random bookings start and end at multiples of 10 minutes, so none starts or ends at this instant.
  const instant = new Date(Date.UTC(2050, 0, 1, 0, 37, 11, 13));
  const beforeInstant = await count({ facilities, time: { kind: 'overlapping', start: undefined, end: instant }, now });
  expect(beforeInstant).toBe(await countRows(`start_date < '${instant.toISOString()}'`));
  const active = await count({ facilities, isActive: true, now: instant });
  expect(active).toBe(await countRows(`end_date > '${instant.toISOString()}'`));
}

const bays = ['bay-n1-01', 'bay-n1-02', 'bay-n2-01', 'bay-s1-01'];
const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
/**
 * Returns the body of a booking that starts in the first half of 1 January 2050, or 40 days later, and takes up to 5
 * hours. All times are multiples of 10 minutes, so many bookings overlap and are rejected.
 */
const randomBody = () => {
  const start = Date.UTC(2050, 0, 1) + Math.floor(Math.random() * 72) * 600_000 + pick([0, 40]) * 86_400_000;
  const end = start + pick([0, 1, 2, 30]) * 600_000;
  const [startDate, endDate] = [start, end].map((time) => new Date(time).toISOString());
  return bookingBody({ bayId: pick(bays), startDate, endDate });
};

/**
 * Sends random requests that create, update, move and delete bookings. Several clients share the array `ids`, so that
 * they change the same bookings.
 */
async function runClient(instance: TestSystem, ids: string[], requests: number): Promise<void> {
  for (let request = 0; request < requests; request += 1) {
    const random = Math.random();
    const id = pick(ids);
    if (id === undefined || random < 0.4) {
      const reference = random < 0.1 ? { externalBookingId: `counted-${Math.random()}` } : {};
      const { status, body } = await instance.call('POST', '/api/bookings', {
        body: { ...randomBody(), ...reference },
      });
      if (status === 201) ids.push(body.id);
    } else if (random < 0.75) await instance.call('PUT', `/api/bookings/${id}`, { body: randomBody() });
    else await instance.call('DELETE', `/api/bookings/${id}`);
  }
}

/** Creates an import file in which bay-n1-01 is at `location`: loc-north-1 or loc-north-2. */
function placesWithBayAt(location: 'loc-north-1' | 'loc-north-2'): object {
  if (location === 'loc-north-1') return places;
  const copy = structuredClone(places);
  const [groundFloor, upperFloor] = copy.facilities[0]?.locations ?? [];
  // bay-n1-01 is the first bay of loc-north-1.
  const bay = groundFloor?.bays.shift();
  if (bay) upperFloor?.bays.push(bay);
  return copy;
}

test('counts stay correct while 16 clients, compactions, recounts and imports that move a bay run', async () => {
  // Enough connections for the 16 clients and the concurrent jobs.
  const instance = await createExtraSystem({ sharing: system, poolMax: 24 });
  const ids: string[] = [];
  let isRunning = true;
  const repeat = async (work: () => Promise<unknown>): Promise<void> => {
    while (isRunning) await work();
  };
  const clients = Promise.all(Array.from({ length: 16 }, () => runClient(instance, ids, 50))).finally(() => {
    isRunning = false;
  });
  /** How many counts (bins) each recount has found wrong and corrected. */
  const corrections: number[] = [];
  await Promise.all([
    clients,
    repeat(() => compactChanges(system.db)),
    repeat(() => compactChanges(instance.db)),
    repeat(async () => corrections.push(await recount(instance.db, bookingState))),
    repeat(async () => {
      await importPlaces(system.db, placesWithBayAt('loc-north-2'));
      await importPlaces(system.db, placesWithBayAt('loc-north-1'));
    }),
  ]);
  expect(ids.length).toBeGreaterThan(50);
  expect(corrections.length).toBeGreaterThan(1);
  expect(corrections.filter((wrongBins) => wrongBins > 0)).toEqual([]);
  expect(instance.databaseErrors.filter((code) => code !== exclusionViolation)).toEqual([]);
  await expectRightCounts();
  await compactChanges(system.db);
  expect(await query(system.db, 'select from booking_change where number is null')).toEqual([]);
  await expectRightCounts();
  // On busy cores, the requests take longer than the default limit.
}, 120_000);

test('while bookings are deleted, pages are full and no total is below the number of remaining bookings', async () => {
  const { search } = createSearchStore(system.db);
  const token = await system.token(['fac-east']);
  const ids: string[] = [];
  for (let created = 0; created < 240; created += 1) {
    const { body } = await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-e1-01' }) });
    ids.push(body.id);
  }
  const remainingIds = ids.slice(200);
  const toDelete = ids.slice(0, 200);
  const remove = async (): Promise<void> => {
    for (let id = toDelete.pop(); id !== undefined; id = toDelete.pop())
      await system.call('DELETE', `/api/bookings/${id}`, { token });
  };
  const deletions = Promise.all([remove(), remove(), remove(), remove()]);
  while (toDelete.length > 0) {
    const { rows, total } = await search({ facilities: ['fac-east'], now }, { page: 2, pageSize: 20 });
    expect(rows).toHaveLength(20);
    expect(total).toBeGreaterThanOrEqual(toDelete.length + remainingIds.length);
  }
  await deletions;
  expect((await search({ facilities: ['fac-east'], now }, { page: 2, pageSize: 20 })).total).toBe(remainingIds.length);
  for (const id of remainingIds) await system.call('DELETE', `/api/bookings/${id}`, { token });
});

test('a rejected booking does not append to the log of changes', async () => {
  const body = bookingBody({ bayId: 'bay-n1-05' });
  await system.call('POST', '/api/bookings', { body });
  const changes = () =>
    query(system.db, 'select facility_id, booking_id, version from booking_change order by 1, 2, 3');
  const before = await changes();
  expect(before.length).toBeGreaterThan(0);
  expect((await system.call('POST', '/api/bookings', { body })).status).toBe(400);
  expect(await changes()).toEqual(before);
});

test('while clients write, a recount corrects the counts after changes that were not logged', async () => {
  const instance = await createExtraSystem({ sharing: system, poolMax: 8 });
  await query(system.db, "delete from booking where bay_id = 'bay-n1-01'");
  const [booking] = await query<{ id: string }>(system.db, "select id from booking where bay_id = 'bay-n2-01' limit 1");
  await query(
    system.db,
    `update booking set start_date = '2061-01-01Z', end_date = '2061-01-02Z'
     where facility_id = 'fac-north' and id = $1`,
    [booking?.id],
  );
  await query(
    system.db,
    `insert into booking (facility_id, id, location_id, bay_id, user_alias,
       start_date, end_date, created_at, last_updated_at)
     select 'fac-south', md5(id)::uuid, location_id, id, 'old',
       timestamptz '2060-01-01Z', timestamptz '2060-01-02Z', timestamptz '2025-01-01Z', timestamptz '2025-01-01Z'
     from bay where facility_id = 'fac-south'`,
  );
  const [corrections] = await Promise.all([
    recount(system.db, bookingState),
    runClient(instance, [], 30),
    runClient(instance, [], 30),
  ]);
  expect(corrections).toBeGreaterThan(0);
  await expectRightCounts();
  expect(await recount(system.db, bookingState)).toBe(0);
});

test('a recount may take longer than the time limits of its role', async () => {
  const limits = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'];
  const known = await query<{ name: string }>(system.db, 'select name from pg_settings where name = any($1)', [limits]);
  const url = new URL(system.databaseUrl);
  url.searchParams.set('options', known.map(({ name }) => `-c ${name}=1s`).join(' '));
  const limited = connectDatabase({ url: url.href, applicationName: 'recount', poolMax: 1 });
  const recounted = await transaction(system.db, async (tx) => {
    await query(tx, "select from facility where id = 'fac-north' for no key update");
    const result = recount(limited, bookingState).catch((error: unknown) => error);
    await until(
      () => isTransactionWaiting(system.db),
      (isWaiting) => isWaiting,
    );
    await query(tx, 'select pg_sleep(1.2)');
    return { result };
  });
  expect(await recounted.result).toBe(0);
  await limited.destroy();
});
