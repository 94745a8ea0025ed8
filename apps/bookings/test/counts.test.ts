// Are the counts of long lists right, whoever writes and whatever happens at the same time? Contract section 7; docs/decisions, 8.
import { query } from '@bay-booking/service/database/database';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createCountingStore } from '../src/bookings/counts/compaction.ts';
import { createCountStore } from '../src/bookings/counts/reader.ts';
import { createSearchStore } from '../src/bookings/search/store.ts';
import { readImport } from '../src/places/import-document.ts';
import { importPlaces } from '../src/places/import-store.ts';
import { bookingBody } from './support/booking-requests.ts';
import { places } from './support/places.ts';
import { closeExtraSystems, createExtraSystem, createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
let counting: ReturnType<typeof createCountingStore>;
beforeAll(async () => {
  system = await createTestSystem();
  counting = createCountingStore(system.db);
});
afterEach(closeExtraSystems);
afterAll(() => system.close());

const facilities = ['fac-north', 'fac-south'];
const now = new Date();
const count = async (where: string): Promise<number> => {
  const [row] = await query<{ n: number }>(system.db, `select count(*)::int as n from booking where ${where}`);
  return row?.n ?? -1;
};

/** As the counts tell it, and as the rows do. */
async function expectRight(): Promise<void> {
  const { total } = createCountStore(system.db);
  for (const facility of facilities) {
    expect(await total({ facilities: [facility], now })).toBe(await count(`facility_id = '${facility}'`));
  }
  for (const location of ['loc-north-1', 'loc-north-2', 'loc-south-1']) {
    expect(await total({ facilities, locationIds: [location], now })).toBe(await count(`location_id = '${location}'`));
  }
  const noon = new Date(Date.UTC(2050, 0, 1, 0, 37, 11, 13));
  expect(await total({ facilities, time: { kind: 'overlapping', start: undefined, end: noon }, now })).toBe(
    await count(`start_date < '${noon.toISOString()}'`),
  );
  expect(await total({ facilities, isActive: true, now: noon })).toBe(
    await count(`end_date > '${noon.toISOString()}'`),
  );
}

const bays = ['bay-n1-01', 'bay-n1-02', 'bay-n2-01', 'bay-s1-01'];
const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
const wish = () => {
  const start = Date.UTC(2050, 0, 1) + Math.floor(Math.random() * 72) * 600_000 + pick([0, 40]) * 86_400_000;
  const [startDate, endDate] = [start, start + pick([0, 1, 2, 30]) * 600_000].map((at) => new Date(at).toISOString());
  return bookingBody({ bayId: pick(bays), startDate: startDate as string, endDate: endDate as string });
};

/** Creates, updates, moves between bays, locations and facilities, and deletes, also what another one does just then. */
async function client(crowd: TestSystem, ids: string[], steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    const dice = Math.random();
    const id = pick(ids);
    if (id === undefined || dice < 0.4) {
      const external = dice < 0.1 ? { externalBookingId: `counted-${Math.random()}` } : {};
      const { status, body } = await crowd.call('POST', '/api/bookings', { body: { ...wish(), ...external } });
      if (status === 201) ids.push(body.id);
    } else if (dice < 0.75) await crowd.call('PUT', `/api/bookings/${id}`, { body: wish() });
    else await crowd.call('DELETE', `/api/bookings/${id}`);
  }
}

function placesWithBayIn(location: string): string {
  const moved = structuredClone(places);
  const [north] = moved.facilities;
  const [first, second] = north?.locations ?? [];
  const index = first?.bays.findIndex(({ id }) => id === 'bay-n1-01') ?? -1;
  const [bay] = (location === 'loc-north-2' && first?.bays.splice(index, 1)) || [];
  if (bay) second?.bays.push(bay);
  return JSON.stringify(moved);
}

test('16 clients, folding, recounting and an import that moves a bay, all at once: every count is right, no deadlock', async () => {
  const crowd = await createExtraSystem({ sharing: system, poolMax: 24 });
  const ids: string[] = [];
  let busy = true;
  const repeat = async (work: () => Promise<unknown>): Promise<void> => {
    while (busy) await work();
  };
  const others = createCountingStore(crowd.db);
  const work = Promise.all(Array.from({ length: 16 }, () => client(crowd, ids, 50))).finally(() => {
    busy = false;
  });
  const wrong: number[] = [];
  await Promise.all([
    work,
    repeat(() => counting.fold()),
    repeat(() => others.fold()),
    repeat(async () => wrong.push(await others.recount())),
    repeat(async () => {
      await importPlaces(system.db, readImport(placesWithBayIn('loc-north-2')));
      await importPlaces(system.db, readImport(placesWithBayIn('loc-north-1')));
    }),
  ]);
  expect(ids.length).toBeGreaterThan(50);
  expect(wrong.length).toBeGreaterThan(1);
  expect(wrong.filter((found) => found > 0)).toEqual([]);
  expect(crowd.databaseErrors.filter((code) => code !== '23P01')).toEqual([]);
  await expectRight();
  await counting.fold();
  expect(await query(system.db, 'select from booking_change')).toEqual([]);
  await expectRight();
});

test('deep pages are full, and the total right, while what they hold is deleted', async () => {
  const { search } = createSearchStore(system.db, { walkedAtMost: 0 });
  const token = await system.token(['fac-east']);
  const ids: string[] = [];
  for (let made = 0; made < 240; made += 1) {
    const { body } = await system.call('POST', '/api/bookings', { token, body: bookingBody({ bayId: 'bay-e1-01' }) });
    ids.push(body.id);
  }
  const left = ids.slice(200);
  const go = ids.slice(0, 200);
  const clear = async (): Promise<void> => {
    for (let id = go.pop(); id !== undefined; id = go.pop())
      await system.call('DELETE', `/api/bookings/${id}`, { token });
  };
  const clearing = Promise.all([clear(), clear(), clear(), clear()]);
  while (go.length > 0) {
    const { bookings, total } = await search({ facilities: ['fac-east'], now }, { page: 2, pageSize: 20 });
    expect(bookings).toHaveLength(20);
    expect(total).toBeGreaterThanOrEqual(go.length + left.length);
  }
  await clearing;
  expect((await search({ facilities: ['fac-east'], now }, { page: 2, pageSize: 20 })).total).toBe(left.length);
  for (const id of left) await system.call('DELETE', `/api/bookings/${id}`, { token });
});

test('a create that is refused counts nothing', async () => {
  const body = bookingBody({ bayId: 'bay-n1-05' });
  await system.call('POST', '/api/bookings', { body });
  const before = await query(system.db, 'select booking_id from booking_change');
  expect((await system.call('POST', '/api/bookings', { body })).status).toBe(400);
  expect(await query(system.db, 'select booking_id from booking_change')).toEqual(before);
});

test('what a release without counts has written is counted by a recount, under load', async () => {
  await counting.setComplete(false);
  const crowd = await createExtraSystem({ sharing: system, poolMax: 8 });
  await query(system.db, "delete from booking where bay_id = 'bay-n1-01'");
  const [one] = await query<{ id: string }>(system.db, "select id from booking where bay_id = 'bay-n2-01' limit 1");
  await query(
    system.db,
    "update booking set start_date = '2061-01-01Z', end_date = '2061-01-02Z' where facility_id = 'fac-north' and id = $1",
    [one?.id],
  );
  const bay =
    "'fac-south', md5(id)::uuid, location_id, id, 'old', timestamptz '2060-01-01Z', timestamptz '2060-01-02Z'";
  await query(
    system.db,
    `insert into booking (facility_id, id, location_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at)
     select ${bay}, timestamptz '2025-01-01Z', timestamptz '2025-01-01Z' from bay where facility_id = 'fac-south'`,
  );
  // Until the recount, totals are counted row by row.
  const { body } = await system.call('GET', '/api/bookings?pageSize=1');
  expect(body.total).toBe(await count('true'));
  let wrong = 0;
  await Promise.all([
    client(crowd, [], 30),
    client(crowd, [], 30),
    counting.recount().then((found) => (wrong = found)),
  ]);
  expect(wrong).toBeGreaterThan(0);
  await expectRight();
  expect(await counting.recount()).toBe(0);
  await counting.setComplete(true);
});
