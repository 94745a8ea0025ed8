// Tests that the writer for distributed databases, which runs several statements, keeps bookings and counts consistent.
//
// The service recognises a distributed database by the table pg_dist_partition. These tests create the table on a
// PostgreSQL without Citus (docs/operations/scale.md).
import { query } from '@bay-booking/service/database/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Criteria } from '../src/bookings/search/where.ts';
import { separateWrites, singleStatementWrites } from '../src/bookings/storage/statements.ts';
import { createCountReader } from '../src/changes/totals/reader.ts';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { closeExtraSystems, createExtraSystem, createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
beforeAll(async () => {
  // PostgreSQL lists prepared statements only on the connection that has prepared them. The tests see the prepared
  // statements of the service, because service and tests share a single connection.
  system = await createTestSystem({ poolMax: 1 });
  await query(system.db, 'create table if not exists pg_dist_partition ()');
});
afterAll(async () => {
  await closeExtraSystems();
  await system.close();
});

const facilities = ['fac-north', 'fac-south'];
/** Returns the instant that is this many hours after the beginning of 2050. */
const instantAt = (hour: number) => new Date(Date.UTC(2050, 0, 1, hour));
const bodyAt = (hour: number, fields: object = {}) => {
  const [startDate, endDate] = [hour, hour + 1].map((hours) => instantAt(hours).toISOString());
  return bookingBody({ startDate, endDate, ...fields });
};
const create = (body: object, headers: Record<string, string> = {}) =>
  system.call('POST', '/api/bookings', { body, headers });
const update = (id: string, body: object, headers: Record<string, string> = {}) =>
  system.call('PUT', `/api/bookings/${id}`, { body, headers });

async function count(criteria: Partial<Criteria> = {}): Promise<number> {
  const isComplete = async () => true;
  const counts = createCountReader(system.db, isComplete);
  return Number(await counts.count({ facilities, now: new Date(), ...criteria }));
}

/** Expects that the count equals the number of bookings in the table, and returns this number. */
async function expectConsistentCount(): Promise<number> {
  const [row] = await query<{ n: number }>(system.db, 'select count(*)::int as n from booking');
  expect(await count()).toBe(row?.n);
  return Number(row?.n);
}

/** Expects that the service has executed the statements `used`, and has not executed the statement `unused`. */
async function expectStatements(used: readonly string[], unused: string): Promise<void> {
  const prepared = await query<{ statement: string }>(system.db, 'select statement from pg_prepared_statements');
  const texts = prepared.map(({ statement }) => statement);
  expect(texts).toEqual(expect.arrayContaining([...used]));
  expect(texts).not.toContain(unused);
}

test('a new booking is inserted and counted, with or without external booking id and Idempotency-Key', async () => {
  const before = await expectConsistentCount();
  expect((await create(bodyAt(1))).status).toBe(201);
  expect((await create(bodyAt(2, { externalBookingId: 'ext-1' }))).status).toBe(201);
  const body = bodyAt(3, { externalBookingId: 'ext-2' });
  const first = await create(body, { 'Idempotency-Key': 'key-1' });
  const repeated = await create(body, { 'Idempotency-Key': 'key-1' });
  expect([first.status, repeated.status]).toEqual([201, 201]);
  expect(repeated.body).toEqual(first.body);
  await expectStatements([separateWrites.insert, separateWrites.countInserted], singleStatementWrites.insert);
  expect(await expectConsistentCount()).toBe(before + 3);
});

test('a booking that uses a hold is inserted and counted, and the hold is deleted', async () => {
  const before = await expectConsistentCount();
  const { bayId, startDate, endDate, ...others } = bodyAt(4);
  const hold = await system.call('POST', '/api/booking-holds', { body: { bayId, startDate, endDate } });
  const booking = { bayId, startDate, endDate, ...others };
  expect(errorCodes(await create(booking))).toEqual(['BOOK00002']);
  expect((await create({ ...booking, holdId: hold.body.id })).status).toBe(201);
  expect((await system.call('GET', `/api/booking-holds/${hold.body.id}`)).status).toBe(404);
  await expectStatements([separateWrites.deleteHold], singleStatementWrites.insertWithHold);
  expect(await expectConsistentCount()).toBe(before + 1);
});

test('a rejected booking is not inserted and not counted, and its external booking id stays free', async () => {
  await create(bodyAt(10, { externalBookingId: 'ext-3' }));
  const before = await expectConsistentCount();
  // The bay bay-n1-99 is not bookable.
  const rejected = [
    await create(bodyAt(10)),
    await create(bodyAt(10, { externalBookingId: 'ext-4' })),
    await create(bodyAt(11, { bayId: 'bay-n1-99' })),
    await create(bodyAt(12, { externalBookingId: 'ext-3' })),
  ];
  expect(rejected.flatMap(errorCodes)).toEqual(['BOOK00002', 'BOOK00002', 'BOOK00003', 'BOOK00001']);
  expect(await expectConsistentCount()).toBe(before);
  expect((await create(bodyAt(13, { externalBookingId: 'ext-4' }))).status).toBe(201);
});

test('an updated booking is counted at its new hour and location, and a rejected update changes nothing', async () => {
  const countBeforeHour30 = () => count({ time: { kind: 'overlapping', start: undefined, end: instantAt(30) } });
  await create(bodyAt(21));
  const { body: booking, headers } = await create(bodyAt(20));
  const [all, beforeHour30] = [await expectConsistentCount(), await countBeforeHour30()];
  expect((await update(booking.id, bodyAt(20, { userAlias: 'Renamed' }))).status).toBe(200);
  expect(await countBeforeHour30()).toBe(beforeHour30);
  const updated = await update(booking.id, bodyAt(40, { bayId: 'bay-n2-01', userAlias: 'Moved' }));
  expect(updated.body).toMatchObject({ bayId: 'bay-n2-01', userAlias: 'Moved', createdAt: booking.createdAt });
  expect(await countBeforeHour30()).toBe(beforeHour30 - 1);
  expect(errorCodes(await update(booking.id, bodyAt(21)))).toEqual(['BOOK00002']);
  expect(errorCodes(await update(booking.id, bodyAt(22, { bayId: 'bay-n1-99' })))).toEqual(['BOOK00003']);
  expect((await update(booking.id, bodyAt(22), { 'If-Match': headers.etag as string })).status).toBe(412);
  expect(await countBeforeHour30()).toBe(beforeHour30 - 1);
  await expectStatements([separateWrites.update, separateWrites.appendChange], singleStatementWrites.update);
  expect(await expectConsistentCount()).toBe(all);
});

test.each([
  ['without an external booking id', {}],
  ['with an external booking id', { externalBookingId: 'ext-5' }],
])('a deleted booking %s is no longer counted, and can be created again', async (_title, fields) => {
  const before = await expectConsistentCount();
  const { body: booking, headers } = await create(bodyAt(50, fields));
  const remove = (etag: string) =>
    system.call('DELETE', `/api/bookings/${booking.id}`, { headers: { 'If-Match': etag } });
  expect((await remove('"other"')).status).toBe(412);
  expect(await expectConsistentCount()).toBe(before + 1);
  expect((await remove(headers.etag as string)).status).toBe(204);
  expect(await expectConsistentCount()).toBe(before);
  await expectStatements([separateWrites.delete, separateWrites.appendChange], singleStatementWrites.delete);
  const { body: again } = await create(bodyAt(50, fields));
  expect((await system.call('DELETE', `/api/bookings/${again.id}`)).status).toBe(204);
});

test('a booking that moves to another facility is counted in the new facility', async () => {
  const countSouth = () => count({ facilities: ['fac-south'] });
  const { body: booking } = await create(bodyAt(60));
  const [all, south] = [await expectConsistentCount(), await countSouth()];
  expect((await update(booking.id, bodyAt(61, { bayId: 'bay-s1-01' }))).status).toBe(200);
  expect(await countSouth()).toBe(south + 1);
  expect(await expectConsistentCount()).toBe(all);
});

test('of 32 concurrent requests to book one time slot, one succeeds, and its booking is counted', async () => {
  const before = await expectConsistentCount();
  const instance = await createExtraSystem({ sharing: system, poolMax: 16 });
  const requests = Array.from({ length: 32 }, () => instance.call('POST', '/api/bookings', { body: bodyAt(70) }));
  const rejected = (await Promise.all(requests)).filter(({ status }) => status !== 201);
  expect(rejected).toHaveLength(31);
  expect(new Set(rejected.flatMap(errorCodes))).toEqual(new Set(['BOOK00002']));
  expect(await expectConsistentCount()).toBe(before + 1);
});
