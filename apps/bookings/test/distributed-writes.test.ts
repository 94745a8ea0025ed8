// Where tables may be spread over several nodes, a booking is written by two statements of one transaction instead of one statement: does
// it all happen still, or nothing? What Citus keeps its list of tables in is all that tells such a database (docs/operations/scale.md).
import { query } from '@bay-booking/service/database/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createCountStore } from '../src/bookings/counts/reader.ts';
import { writes } from '../src/bookings/storage/statements.ts';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { closeExtraSystems, createExtraSystem, createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem({ poolMax: 1 });
  await query(system.db, 'create table if not exists pg_dist_partition ()');
});
afterAll(async () => {
  await closeExtraSystems();
  await system.close();
});

const facilities = ['fac-north', 'fac-south'];
const at = (hour: number, more: object = {}) => {
  const [startDate, endDate] = [hour, hour + 1].map((hours) => new Date(Date.UTC(2050, 0, 1, hours)).toISOString());
  return bookingBody({ startDate, endDate, ...more });
};
const create = (body: object, headers: Record<string, string> = {}) =>
  system.call('POST', '/api/bookings', { body, headers });

/** How many bookings there are, by their rows and by the counts alike. */
async function counted(): Promise<number> {
  const [row] = await query<{ n: number }>(system.db, 'select count(*)::int as n from booking');
  const { total } = createCountStore(system.db);
  expect(await total({ facilities, now: new Date() })).toBe(row?.n);
  return Number(row?.n);
}

async function expectStatements(used: readonly string[], unused: string): Promise<void> {
  const prepared = await query<{ statement: string }>(system.db, 'select statement from pg_prepared_statements');
  const texts = prepared.map(({ statement }) => statement);
  expect(texts).toEqual(expect.arrayContaining([...used]));
  expect(texts).not.toContain(unused);
}

test('a booking goes in and is counted by two statements, however it is asked for', async () => {
  const before = await counted();
  expect((await create(at(1))).status).toBe(201);
  expect((await create(at(2, { externalBookingId: 'spread-1' }))).status).toBe(201);
  const kept = await create(at(3, { externalBookingId: 'spread-2' }), { 'Idempotency-Key': 'spread' });
  const again = await create(at(3, { externalBookingId: 'spread-2' }), { 'Idempotency-Key': 'spread' });
  expect([kept.status, again.status]).toEqual([201, 201]);
  expect(again.body).toEqual(kept.body);
  await expectStatements([writes.book, writes.count], writes.create);
  expect(await counted()).toBe(before + 3);
});

test('what is refused is neither there nor counted: taken, not bookable, an external booking id that exists', async () => {
  await create(at(10, { externalBookingId: 'spread-3' }));
  const before = await counted();
  const refused = [
    await create(at(10)),
    await create(at(10, { externalBookingId: 'spread-4' })),
    await create(at(11, { bayId: 'bay-n1-99' })),
    await create(at(12, { externalBookingId: 'spread-3' })),
  ];
  expect(refused.flatMap(errorCodes)).toEqual(['BOOK00002', 'BOOK00002', 'BOOK00003', 'BOOK00001']);
  expect(await counted()).toBe(before);
  expect((await create(at(13, { externalBookingId: 'spread-4' }))).status).toBe(201);
});

const change = (id: string, body: object, headers: Record<string, string> = {}) =>
  system.call('PUT', `/api/bookings/${id}`, { body, headers });

test('a change is counted where the booking is now, and one that is refused not at all', async () => {
  const startedBefore = async (hour: number): Promise<number> => {
    const end = new Date(Date.UTC(2050, 0, 1, hour));
    const time = { kind: 'overlapping', start: undefined, end } as const;
    return Number(await createCountStore(system.db).total({ facilities, now: new Date(), time }));
  };
  await create(at(21));
  const { body: booking, headers } = await create(at(20));
  const [all, early] = [await counted(), await startedBefore(30)];
  expect((await change(booking.id, at(20, { userAlias: 'Renamed' }))).status).toBe(200);
  expect(await startedBefore(30)).toBe(early);
  const moved = await change(booking.id, at(40, { bayId: 'bay-n2-01', userAlias: 'Moved' }));
  expect(moved.body).toMatchObject({ bayId: 'bay-n2-01', userAlias: 'Moved', createdAt: booking.createdAt });
  expect(await startedBefore(30)).toBe(early - 1);
  expect(errorCodes(await change(booking.id, at(21)))).toEqual(['BOOK00002']);
  expect(errorCodes(await change(booking.id, at(22, { bayId: 'bay-n1-99' })))).toEqual(['BOOK00003']);
  expect((await change(booking.id, at(22), { 'If-Match': headers.etag as string })).status).toBe(412);
  expect(await startedBefore(30)).toBe(early - 1);
  await expectStatements([writes.change, writes.countChange], writes.update);
  expect(await counted()).toBe(all);
});

test.each([
  ['without an external booking id', {}],
  ['with one, which is free then', { externalBookingId: 'spread-gone' }],
])('a booking that goes is counted out: %s', async (_title, more) => {
  const before = await counted();
  const { body: booking, headers } = await create(at(50, more));
  const remove = (tag: string) =>
    system.call('DELETE', `/api/bookings/${booking.id}`, { headers: { 'If-Match': tag } });
  expect((await remove('"other"')).status).toBe(412);
  expect(await counted()).toBe(before + 1);
  expect((await remove(headers.etag as string)).status).toBe(204);
  expect(await counted()).toBe(before);
  await expectStatements([writes.takeOut, writes.countChange], writes.remove);
  const { body: again } = await create(at(50, more));
  expect((await system.call('DELETE', `/api/bookings/${again.id}`)).status).toBe(204);
});

test('a booking that moves to another facility is counted there', async () => {
  const { total } = createCountStore(system.db);
  const inSouth = () => total({ facilities: ['fac-south'], now: new Date() });
  const { body: booking } = await create(at(60));
  const [all, before] = [await counted(), Number(await inSouth())];
  expect((await change(booking.id, at(61, { bayId: 'bay-s1-01' }))).status).toBe(200);
  expect(await inSouth()).toBe(before + 1);
  expect(await counted()).toBe(all);
});

test('32 clients at once get one booking, counted once', async () => {
  const before = await counted();
  const crowd = await createExtraSystem({ sharing: system, poolMax: 16 });
  const race = Array.from({ length: 32 }, () => crowd.call('POST', '/api/bookings', { body: at(70) }));
  const answers = await Promise.all(race);
  const late = answers.filter(({ status }) => status !== 201);
  expect(late).toHaveLength(31);
  expect(new Set(late.flatMap(errorCodes))).toEqual(new Set(['BOOK00002']));
  expect(await counted()).toBe(before + 1);
});
