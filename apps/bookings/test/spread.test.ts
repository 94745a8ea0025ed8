// Where tables may be spread over several nodes, a booking goes in by two statements of one transaction instead of one statement: does it
// all happen still, or nothing? What Citus keeps its list of tables in is all that tells such a database (docs/scale.md).
import { query } from '@bay-booking/service/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createCountStore } from '../src/bookings/count-store.ts';
import { writes } from '../src/bookings/statements.ts';
import { codesOf, slot } from './support/bookings.ts';
import { another, closeOthers, createWorld, type World } from './support/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({ poolMax: 1 });
  await query(world.db, 'create table if not exists pg_dist_partition ()');
});
afterAll(async () => {
  await closeOthers();
  await world.close();
});

const facilities = ['fac-north', 'fac-south'];
const at = (hour: number, more: object = {}) => {
  const [startDate, endDate] = [hour, hour + 1].map((hours) => new Date(Date.UTC(2050, 0, 1, hours)).toISOString());
  return slot({ startDate, endDate, ...more });
};
const create = (body: object, headers: Record<string, string> = {}) =>
  world.call('POST', '/api/bookings', { body, headers });

async function expectEachCountedOnce(bookings: number): Promise<void> {
  expect(await query(world.db, 'select count(*)::int as n from booking')).toEqual([{ n: bookings }]);
  const { total } = createCountStore(world.db);
  expect(await total({ facilities, now: new Date() })).toBe(bookings);
}

test('a booking goes in and is counted by two statements, however it is asked for', async () => {
  expect((await create(at(1))).status).toBe(201);
  expect((await create(at(2, { externalBookingId: 'spread-1' }))).status).toBe(201);
  const kept = await create(at(3, { externalBookingId: 'spread-2' }), { 'Idempotency-Key': 'spread' });
  const again = await create(at(3, { externalBookingId: 'spread-2' }), { 'Idempotency-Key': 'spread' });
  expect([kept.status, again.status]).toEqual([201, 201]);
  expect(again.body).toEqual(kept.body);
  const prepared = await query<{ statement: string }>(world.db, 'select statement from pg_prepared_statements');
  const texts = prepared.map(({ statement }) => statement);
  expect(texts).toEqual(expect.arrayContaining([writes.book, writes.count]));
  expect(texts).not.toContain(writes.create);
  await expectEachCountedOnce(3);
});

test('what is refused is neither there nor counted: taken, not bookable, an external booking id that exists', async () => {
  const refused = [
    await create(at(1)),
    await create(at(1, { externalBookingId: 'spread-3' })),
    await create(at(4, { bayId: 'bay-n1-99' })),
    await create(at(5, { externalBookingId: 'spread-1' })),
  ];
  expect(refused.flatMap(codesOf)).toEqual(['BOOK00002', 'BOOK00002', 'BOOK00003', 'BOOK00001']);
  await expectEachCountedOnce(3);
  expect((await create(at(6, { externalBookingId: 'spread-3' }))).status).toBe(201);
});

test('a booking that moves to another facility is counted there', async () => {
  const { body: booking } = await create(at(7));
  const moved = await world.call('PUT', `/api/bookings/${booking.id}`, { body: at(8, { bayId: 'bay-s1-01' }) });
  expect(moved.status).toBe(200);
  const { total } = createCountStore(world.db);
  expect(await total({ facilities: ['fac-south'], now: new Date() })).toBe(1);
  await expectEachCountedOnce(5);
});

test('32 clients at once get one booking, counted once', async () => {
  const crowd = await another({ beside: world, poolMax: 16 });
  const race = Array.from({ length: 32 }, () => crowd.call('POST', '/api/bookings', { body: at(9) }));
  const answers = await Promise.all(race);
  const late = answers.filter(({ status }) => status !== 201);
  expect(late).toHaveLength(31);
  expect(new Set(late.flatMap(codesOf))).toEqual(new Set(['BOOK00002']));
  await expectEachCountedOnce(6);
});
