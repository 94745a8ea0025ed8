// Tests the header Idempotency-Key of POST /api/bookings (docs/behaviour.md, "Idempotency keys").
import { query } from '@bay-booking/service/database/database';
import { createIdempotency } from '@bay-booking/service/idempotency';
import { expect, test } from '@jest/globals';
import { errors } from '../src/errors.ts';
import { bookingBody, errorCodes } from './support/booking-requests.ts';
import { isTransactionWaiting } from './support/lock-waits.ts';
import { useTestSystem } from './support/test-system.ts';

let now = new Date();
const system = useTestSystem({ now: () => now });

const postTo = (path: string, body: unknown, key: string, token?: string) =>
  system.call('POST', path, { body, headers: { 'Idempotency-Key': key }, ...(token && { token }) });
const post = (body: unknown, key: string, token?: string) => postTo('/api/bookings', body, key, token);

test('the same key and body get the first response again, even if the booking was changed or deleted', async () => {
  const body = bookingBody({ externalBookingId: 'ext-1' });
  const first = await post(body, 'key-1');
  expect(first.status).toBe(201);
  expect(first.headers['idempotency-replayed']).toBeUndefined();
  const expectSameResponse = async () => {
    const repeated = await post(body, 'key-1');
    expect(repeated.status).toBe(201);
    expect(repeated.body).toEqual(first.body);
    expect(repeated.headers.location).toBe(first.headers.location);
    expect(repeated.headers.etag).toBe(first.headers.etag);
    expect(repeated.headers['idempotency-replayed']).toBe('true');
  };
  await expectSameResponse();
  await system.call('PUT', `/api/bookings/${first.body.id}`, { body: bookingBody() });
  await expectSameResponse();
  await system.call('DELETE', `/api/bookings/${first.body.id}`);
  await expectSameResponse();
  expect((await system.call('GET', '/api/bookings?externalBookingIds=ext-1')).body.total).toBe(0);
});

test('unknown fields with any name and depth are ignored, and names of JavaScript can be names of metadata', async () => {
  const metadata = JSON.parse('{ "toString": "x", "__proto__": "y", "valueOf": "z" }');
  const body = bookingBody({ metadata });
  const unknown = { toString: 'x', valueOf: {}, constructor: [], deep: JSON.parse('['.repeat(90) + ']'.repeat(90)) };
  const first = await post({ ...body, ...unknown }, 'names');
  expect([first.status, first.body.metadata]).toEqual([201, metadata]);
  // Fields in another order are the same body.
  const reversed = Object.fromEntries(Object.entries(metadata).reverse());
  expect((await post({ ...unknown, ...body, metadata: reversed }, 'names')).body).toEqual(first.body);
  const group = { bookings: [{ ...bookingBody({ metadata }), ...unknown }] };
  const created = await postTo('/api/booking-groups', group, 'names-of-group');
  expect(created.status).toBe(201);
  const repeated = await postTo('/api/booking-groups', group, 'names-of-group');
  expect(repeated).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
  expect(repeated.body).toEqual(created.body);
  const deep = `{"bookings":[{"deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}]}`;
  expect(errorCodes(await postTo('/api/booking-groups', deep, 'deep'))).toEqual(['ERR00002']);
});

test('the same key with another body returns 422 ERR00422', async () => {
  const body = bookingBody({ externalBookingId: 'ext-2' });
  expect((await post(body, 'key-2')).status).toBe(201);
  // The last two bodies also have an invalid field, but only ERR00422 is reported.
  for (const change of [{ userAlias: 'Bob' }, { bayId: 'bay-s1-01' }, { endDate: 'x' }, { correlationId: 5 }]) {
    const response = await post({ ...body, ...change }, 'key-2');
    expect(response.status).toBe(422);
    const contextData = { externalBookingId: 'ext-2' };
    expect(response.body.errors).toMatchObject([{ code: 'ERR00422', contextData }]);
  }
});

test('the response is not repeated for another client, or for another sub of the client', async () => {
  const body = bookingBody();
  const otherClient = await system.token(['fac-north'], { client_id: 'another-client' });
  const otherSubject = await system.token(['fac-north'], { sub: 'another-subject' });
  expect((await post(body, 'key-3')).status).toBe(201);
  // The same key of another client or subject is another key. These requests therefore try to create new bookings,
  // which overlap the first booking: BOOK00002.
  expect(errorCodes(await post(body, 'key-3', otherClient))).toEqual(['BOOK00002']);
  expect(errorCodes(await post(body, 'key-3', otherSubject))).toEqual(['BOOK00002']);
});

test('a response is repeated even after the endDate has passed, and no longer after 24 hours', async () => {
  const start = now.getTime();
  const [startDate, endDate] = [60_000, 120_000].map((later) => new Date(start + later).toISOString());
  const body = bookingBody({ bayId: 'bay-n1-08', startDate, endDate });
  expect((await post(body, 'key-5')).status).toBe(201);
  now = new Date(start + 23 * 3_600_000);
  expect((await post(body, 'key-5')).status).toBe(201);
  now = new Date(start + 25 * 3_600_000);
  // The service no longer knows the key, so it validates the request like a new one. ERR00011 means that the endDate is
  // in the past. BOOK00002 means that the first booking overlaps.
  expect(errorCodes(await post(body, 'key-5'))).toEqual(['ERR00011', 'BOOK00002']);
  expect((await post(bookingBody(), 'key-5')).status).toBe(201);
  now = new Date(start);
});

test('all expired responses are deleted, even if there are more than a batch', async () => {
  // A batch has 1000 responses (packages/service/src/idempotency.ts).
  await query(
    system.db,
    `insert into idempotency_key (id, request_hash, facility_id, answer, created_at)
     select 'old-' || n, 'hash', 'fac-north', '{}', now() - interval '25 hours'
     from generate_series(1, 2500) n`,
  );
  const idempotency = createIdempotency(system.db, errors);
  while (await idempotency.deleteExpired(new Date()));
  expect(await query(system.db, "select from idempotency_key where id like 'old-%'")).toHaveLength(0);
  // The responses of the other tests are not expired.
  expect(await query(system.db, 'select from idempotency_key')).not.toHaveLength(0);
});

test('a second request returns 409 ERR00409 with Retry-After while the first one is in progress', async () => {
  const body = bookingBody({ bayId: 'bay-n1-07' });
  // The first request inserts its key, and then waits for the lock of the bay. Its transaction stays open meanwhile.
  const lockHolder = await system.db.transaction();
  await lockHolder.raw("select from bay where facility_id = 'fac-north' and id = 'bay-n1-07' for update");
  const first = post(body, 'key-6');
  // Asks the database again and again until the first request waits.
  while (!(await isTransactionWaiting(system.db)));
  const second = await post(body, 'key-6');
  expect(errorCodes(second)).toEqual(['ERR00409']);
  expect(second.headers['retry-after']).toBe('1');
  await lockHolder.rollback();
  expect((await first).status).toBe(201);
  expect((await post(body, 'key-6')).body).toEqual((await first).body);
});

test.each(['', ' ', 'a b', 'é', 'x'.repeat(256)])('the Idempotency-Key %j returns 400', async (key) => {
  const response = await post(bookingBody(), key);
  expect(response.status).toBe(400);
  expect(response.body.errors[0]).toMatchObject({ code: 'ERR00002', description: "'Idempotency-Key' is invalid." });
});
