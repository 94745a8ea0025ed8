// Idempotency-Key on POST /api/bookings. Contract section 7.

import { query } from '@bay-booking/service/database/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createIdempotencyStore } from '../src/bookings/storage/idempotency-store.ts';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { isTransactionWaiting } from './support/lock-waits.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
let now = new Date();
beforeAll(async () => {
  system = await createTestSystem({ now: () => now });
});
afterAll(() => system.close());

const post = (body: unknown, key: string, token?: string) =>
  system.call('POST', '/api/bookings', { body, headers: { 'Idempotency-Key': key }, ...(token && { token }) });

test('the same key and body answer the same booking again, also when it has changed or gone since', async () => {
  const body = bookingBody({ externalBookingId: 'ext-1' });
  const first = await post(body, 'key-1');
  expect(first.status).toBe(201);
  const again = async () => {
    const second = await post(body, 'key-1');
    expect(second.status).toBe(201);
    expect(second.body).toEqual(first.body);
    expect(second.headers.location).toBe(first.headers.location);
    expect(second.headers.etag).toBe(first.headers.etag);
  };
  await again();
  await system.call('PUT', `/api/bookings/${first.body.id}`, { body: bookingBody() });
  await again();
  await system.call('DELETE', `/api/bookings/${first.body.id}`);
  await again();
  expect((await system.call('GET', '/api/bookings?externalBookingIds=ext-1')).body.total).toBe(0);
});

test('another body is 422 ERR00422, on whatever bay', async () => {
  const body = bookingBody({ externalBookingId: 'ext-2' });
  expect((await post(body, 'key-2')).status).toBe(201);
  for (const other of [
    { ...body, userAlias: 'Bob' },
    { ...body, bayId: 'bay-s1-01' },
    { ...body, endDate: 'x' },
    { ...body, correlationId: 5 },
  ]) {
    const response = await post(other, 'key-2');
    expect(response.status).toBe(422);
    expect(response.body.errors).toEqual([
      expect.objectContaining({ code: 'ERR00422', contextData: { externalBookingId: 'ext-2' } }),
    ]);
  }
});

test('a key belongs to its client', async () => {
  const body = bookingBody();
  const other = await system.token(['fac-north'], { client_id: 'another-client' });
  expect((await post(body, 'key-3')).status).toBe(201);
  expect(errorCodes(await post(body, 'key-3', other))).toEqual(['BOOK00002']);
});

test('a refusal is not kept: the key may be tried again', async () => {
  const body = bookingBody();
  const blocking = await system.call('POST', '/api/bookings', { body });
  expect(errorCodes(await post(body, 'key-4'))).toEqual(['BOOK00002']);
  await system.call('DELETE', `/api/bookings/${blocking.body.id}`);
  expect((await post(body, 'key-4')).status).toBe(201);
});

test('a repetition is answered even after its endDate has passed, and forgotten after 24 hours', async () => {
  const start = now.getTime();
  const body = bookingBody({
    bayId: 'bay-n1-08',
    startDate: new Date(start + 60_000).toISOString(),
    endDate: new Date(start + 120_000).toISOString(),
  });
  expect((await post(body, 'key-5')).status).toBe(201);
  now = new Date(start + 23 * 3_600_000);
  expect((await post(body, 'key-5')).status).toBe(201);
  now = new Date(start + 25 * 3_600_000);
  expect(errorCodes(await post(body, 'key-5'))).toEqual(['ERR00011', 'BOOK00002']);
  expect((await post(bookingBody(), 'key-5')).status).toBe(201);
  now = new Date(start);
});

test('old answers are cleared away in batches', async () => {
  await query(
    system.db,
    "insert into idempotency_key select 'old-' || n, 'hash', 'fac-north', '{}', now() - interval '25 hours' from generate_series(1, 2500) n",
  );
  expect(await createIdempotencyStore(system.db).deleteExpired(new Date())).toBeGreaterThanOrEqual(2500);
  expect(await query(system.db, "select from idempotency_key where id like 'old-%'")).toHaveLength(0);
  expect(await query(system.db, 'select from idempotency_key')).not.toHaveLength(0);
});

test('in flight: 409 ERR00409 with Retry-After', async () => {
  const body = bookingBody({ bayId: 'bay-n1-07' });
  const holder = await system.db.transaction();
  // Another instance is in the midst of its transaction: the bay is locked, and the first request waits for it with its
  // key kept.
  await query(holder, "select from bay where facility_id = 'fac-north' and id = 'bay-n1-07' for update");
  const first = post(body, 'key-6');
  while (!(await isTransactionWaiting(system.db)));
  const second = await post(body, 'key-6');
  expect(second.status).toBe(409);
  expect(errorCodes(second)).toEqual(['ERR00409']);
  expect(second.headers['retry-after']).toBe('1');
  await holder.rollback();
  expect((await first).status).toBe(201);
  expect((await post(body, 'key-6')).body).toEqual((await first).body);
});

test('a key that is none is reported with all other faults', async () => {
  const response = await post({ userAlias: 'Ann' }, 'a b');
  expect(response.status).toBe(400);
  expect(errorCodes(response)).toEqual(['ERR00001', 'ERR00001', 'ERR00001', 'ERR00002']);
});

test.each(['', ' ', 'a b', 'é', 'x'.repeat(256)])('400 for the key %j', async (key) => {
  const response = await post(bookingBody(), key);
  expect(response.status).toBe(400);
  expect(response.body.errors[0]).toMatchObject({ code: 'ERR00002', description: "'Idempotency-Key' is invalid." });
});
