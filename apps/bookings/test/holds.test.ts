// Tests holds: their endpoints, the requests that they block, and bookings that use them up.
import { query, transaction } from '@bay-booking/service/database/database';
import { eventually } from '@bay-booking/testkit/wait';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHoldStore } from '../src/holds/store.ts';
import { type BookingBody, bookingBody, clients, errorCodes, rounds } from './support/booking-requests.ts';
import { isTransactionWaiting } from './support/lock-waits.ts';
import { createExtraSystem, createTestSystem, type TestSystem, useTestSystem } from './support/test-system.ts';

const system = useTestSystem();

/**
 * Returns the body of a request that holds the bay of a booking for its time. Each call of `bookingBody` returns a
 * booking at another time.
 */
const holdBody = ({ userAlias: _, ...body }: BookingBody, overrides: object = {}) => ({ ...body, ...overrides });
const hold = (body: object) => system.call('POST', '/api/booking-holds', { body });
const book = (body: object, options: { token?: string } = {}) =>
  system.call('POST', '/api/bookings', { body, ...options });
/** Returns a token of another client than the client of the default token. */
const tokenOfOtherClient = () => system.token(['fac-north', 'fac-south'], { client_id: 'other', sub: 'somebody-else' });
const expire = (id: string) =>
  query(system.db, "update booking_hold set expires_at = now() - interval '1 s' where id = $1::uuid", [id]);
const secondsBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1_000;

describe('holds', () => {
  test('a hold is created, read, extended and deleted', async () => {
    const body = holdBody(bookingBody(), { correlationId: 'session-1' });
    const created = await hold(body);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject(body);
    // Without `holdSeconds`, a hold lasts for 300 s.
    expect(secondsBetween(created.body.createdAt, created.body.expiresAt)).toBe(300);
    expect(created.body._links.book).toEqual({ method: 'POST', href: 'https://bookings.example/api/bookings' });
    expect(created.headers.etag).toBeUndefined();
    const path = new URL(created.headers.location as string).pathname;
    expect((await system.call('GET', path)).body).toEqual(created.body);
    const extended = await system.call('PUT', path, { body: { holdSeconds: 900 } });
    expect(extended.status).toBe(200);
    expect(secondsBetween(created.body.createdAt, extended.body.expiresAt)).toBeGreaterThanOrEqual(900);
    expect(secondsBetween(created.body.createdAt, extended.body.expiresAt)).toBeLessThan(910);
    expect((await system.call('DELETE', path)).status).toBe(204);
    for (const [method, body] of [['GET'], ['PUT', { holdSeconds: 60 }], ['DELETE']] as const)
      expect((await system.call(method, path, { body })).status).toBe(404);
  });

  test('a hold expires 30 minutes after its creation at the latest', async () => {
    const { body } = await hold(holdBody(bookingBody()));
    const setCreation = "update booking_hold set created_at = now() - interval '20 minutes' where id = $1::uuid";
    await query(system.db, setCreation, [body.id]);
    const extend = (holdSeconds: number) =>
      system.call('PUT', `/api/booking-holds/${body.id}`, { body: { holdSeconds } });
    // In 900 s, the hold would be 35 minutes old. The maximum is 30 minutes.
    expect(errorCodes(await extend(900))).toEqual(['ERR00002']);
    expect((await extend(500)).status).toBe(200);
  });

  test.each([
    ['holdSeconds below 30', { holdSeconds: 29 }, ['ERR00002']],
    ['holdSeconds above 900', { holdSeconds: 901 }, ['ERR00002']],
    ['no bay', { bayId: null }, ['ERR00001']],
    ['an unknown bay', { bayId: 'bay-e1-01' }, ['ERR00012']],
    ['a text that is not an id', { bayId: `${'x'.repeat(300)}\ud800` }, ['ERR00012']],
    ['a bay that is not bookable', { bayId: 'bay-n1-99' }, ['BOOK00003']],
    ['a time in the past', { startDate: '2020-01-01T00:00:00Z', endDate: '2020-01-01T01:00:00Z' }, ['ERR00011']],
  ])('a hold with %s is rejected', async (_title, overrides, codes) => {
    const response = await hold(holdBody(bookingBody(), overrides));
    expect(errorCodes(response)).toEqual(codes);
    expect(response.body.errors[0].contextData).not.toHaveProperty('externalBookingId');
  });

  test('every client of the owner finds a hold, and another owner with the same client gets 404', async () => {
    const { body } = await hold(holdBody(bookingBody()));
    const path = `/api/booking-holds/${body.id}`;
    const otherOwner = await system.token(['fac-north'], { sub: 'somebody' });
    expect((await system.call('GET', path, { token: otherOwner })).status).toBe(404);
    expect((await system.call('DELETE', path, { token: otherOwner })).status).toBe(404);
    const otherClient = await system.token(['fac-north'], { client_id: 'new-token-of-the-account' });
    expect((await system.call('GET', path, { token: otherClient })).body).toEqual(body);
    expect((await system.call('DELETE', path, { token: otherClient })).status).toBe(204);
  });

  test('a hold is rejected with BOOK00004 if the owner has the maximum number of live holds at the facility', async () => {
    const limited = await createExtraSystem({ sharing: system, config: { holdsPerOwner: 2 }, poolMax: 20 });
    const tokenOf = (sub: string, client: string) =>
      system.token(['fac-north', 'fac-south'], { client_id: client, sub });
    const tokens = [await tokenOf('limited', 'one'), await tokenOf('limited', 'two')];
    const create = (token = tokens[0] as string, bayId = 'bay-n2-01') =>
      limited.call('POST', '/api/booking-holds', { body: holdBody(bookingBody({ bayId })), token });
    const responses = await Promise.all(Array.from({ length: 16 }, (_, index) => create(tokens[index % 2])));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(2);
    const rejected = responses.filter(({ status }) => status === 400);
    expect(rejected.map(errorCodes)).toEqual(Array.from({ length: 14 }, () => ['BOOK00004']));
    expect(rejected[0]?.body.errors[0].moreInfo).toBe('at most 2 holds at a facility');
    expect((await create(tokens[0], 'bay-s1-01')).status).toBe(201);
    expect((await create(await tokenOf('unlimited', 'one'))).status).toBe(201);
    await query(system.db, "update booking_hold set expires_at = now() where subject = 'limited'");
    expect((await create()).status).toBe(201);
  });

  test('the endpoints for holds do not exist if HOLDS_PER_OWNER is 0', async () => {
    const withoutHolds = await createExtraSystem({ sharing: system, config: { holdsPerOwner: 0 } });
    expect((await withoutHolds.call('POST', '/api/booking-holds', { body: holdBody(bookingBody()) })).status).toBe(404);
  });
});

describe('live holds', () => {
  test('a live hold blocks holds, bookings without its id, and updates whose interval overlaps', async () => {
    const body = bookingBody({ bayId: 'bay-n1-02' });
    const { body: held } = await hold(holdBody(body));
    const moreInfo = `held until ${held.expiresAt}`;
    const error = { code: 'BOOK00002', moreInfo, contextData: { heldUntil: held.expiresAt } };
    const token = await tokenOfOtherClient();
    for (const response of [await hold(holdBody(body)), await book(body), await book(body, { token })])
      expect(response.body.errors).toMatchObject([error]);
    const other = await book(bookingBody({ bayId: 'bay-n1-02' }));
    const move = (booking: typeof other) => system.call('PUT', `/api/bookings/${booking.body.id}`, { body });
    expect((await move(other)).body.errors).toMatchObject([{ code: 'BOOK00002', moreInfo }]);
    // A booking of another facility cannot move into the held time either.
    expect((await move(await book(bookingBody({ bayId: 'bay-s1-01' })))).status).toBe(400);
    // The booking starts at the end of the hold and has no duration, so it does not overlap the hold.
    expect((await book({ ...body, startDate: body.endDate })).status).toBe(201);
    await expire(held.id);
    expect((await move(other)).status).toBe(200);
  });

  test('a booking moves into a live hold of its client, and uses up the hold', async () => {
    const { body: booking } = await book(bookingBody({ bayId: 'bay-n1-08' }));
    const held = bookingBody({ bayId: 'bay-s1-04' });
    const { body: live } = await hold(holdBody(held));
    const move = (body: object, options: object = {}) =>
      system.call('PUT', `/api/bookings/${booking.id}`, { body: { ...held, holdId: live.id, ...body }, ...options });
    const startsBefore = { startDate: new Date(Date.parse(held.startDate) - 1).toISOString() };
    for (const outside of [{ bayId: 'bay-s1-05' }, startsBefore]) {
      const { body } = await move(outside);
      expect(body.errors).toMatchObject([{ code: 'ERR00002', contextData: { field: 'holdId' } }]);
    }
    expect(errorCodes(await move({}, { token: await tokenOfOtherClient() }))).toEqual(['BOOK00002']);
    // A rejected update leaves the hold.
    expect((await move({}, { headers: { 'If-Match': '"0-0"' } })).status).toBe(412);
    expect((await system.call('GET', `/api/booking-holds/${live.id}`)).status).toBe(200);
    const moved = await move({});
    expect([moved.status, moved.body.bayId, moved.body.holdId]).toEqual([200, held.bayId, undefined]);
    expect((await system.call('GET', `/api/booking-holds/${live.id}`)).status).toBe(404);
    // The hold is used up, so a repeated request is an update without a hold.
    expect((await move({})).status).toBe(200);
  });

  test('of concurrent updates and creations with the same hold, exactly one succeeds', async () => {
    const instance = await createExtraSystem({ sharing: system, poolMax: 16 });
    for (let round = 0; round < 5; round += 1) {
      const own = await Promise.all(Array.from({ length: 8 }, () => book(bookingBody({ bayId: 'bay-n1-09' }))));
      const held = bookingBody({ bayId: 'bay-n1-08' });
      const { body: live } = await hold(holdBody(held));
      const body = { ...held, holdId: live.id };
      const responses = await Promise.all([
        ...own.map((booking) => instance.call('PUT', `/api/bookings/${booking.body.id}`, { body })),
        ...own.map(() => instance.call('POST', '/api/bookings', { body })),
      ]);
      const statuses = responses.map(({ status }) => status).sort();
      expect(statuses).toEqual([expect.any(Number), ...Array(15).fill(400)]);
      expect(statuses[0]).toBeLessThan(300);
    }
    expect(instance.databaseErrors).toEqual([]);
  });

  test('a holdId that has expired or belongs to another client is ignored', async () => {
    const free = bookingBody({ bayId: 'bay-n1-06' });
    expect((await book({ ...free, holdId: 'unknown' })).status).toBe(201);
    const body = bookingBody({ bayId: 'bay-n1-06' });
    const { body: held } = await hold(holdBody(body));
    const foreign = await book({ ...body, holdId: held.id }, { token: await tokenOfOtherClient() });
    expect(errorCodes(foreign)).toEqual(['BOOK00002']);
    await expire(held.id);
    expect((await book({ ...body, holdId: held.id })).status).toBe(201);
  });
});

test('of many concurrent requests for holds and bookings of one time slot, exactly one succeeds', async () => {
  const instance = await createExtraSystem({ sharing: system, poolMax: clients(32) });
  for (let round = 0; round < rounds(20); round += 1) {
    const body = bookingBody({ bayId: 'bay-n1-07' });
    const send = (index: number) =>
      index % 2
        ? instance.call('POST', '/api/booking-holds', { body: holdBody(body) })
        : instance.call('POST', '/api/bookings', { body });
    const responses = await Promise.all(Array.from({ length: clients(64) }, (_, index) => send(index)));
    const rejected = responses.filter(({ status }) => status !== 201);
    expect(rejected).toHaveLength(clients(64) - 1);
    for (const response of rejected) expect(errorCodes(response)).toEqual(['BOOK00002']);
  }
  expect(instance.databaseErrors).toEqual([]);
});

test('all expired holds are deleted, even if there are more than two batches', async () => {
  // A batch has 1000 holds (src/holds/store.ts).
  const insert = `insert into booking_hold (facility_id, id, bay_id, client_id, subject, start_date, end_date,
  expires_at, created_at, authorized_at) select 'fac-north', gen_random_uuid(), 'bay-n2-05', 'c', 's', now(), now(),
  now() - interval '1 s', now(), now() from generate_series(1, 2500)`;
  await query(system.db, insert);
  const holds = createHoldStore(system.db);
  while (await holds.deleteExpired());
  expect(await query(system.db, 'select from booking_hold where expires_at <= now()')).toEqual([]);
});

// The clock of the database decides when a hold expires. If two requests that compete for its time slot saw different
// times, both could be rejected: one because of the hold, and the other because the hold has expired.
describe('a hold that expires while a booking uses it', () => {
  const bayId = 'bay-n1-08';
  const clockAheadBy = (minutes: number) => () => new Date(Date.now() + minutes * 60_000);

  // The clock of one instance is 20 minutes fast, and the clock of the other is 20 minutes slow.
  let fast: TestSystem;
  let slow: TestSystem;
  let otherToken: string;
  beforeAll(async () => {
    fast = await createTestSystem({ now: clockAheadBy(20), sharing: system });
    slow = await createTestSystem({ now: clockAheadBy(-20), sharing: system });
    otherToken = await tokenOfOtherClient();
  });
  afterAll(async () => {
    await slow.close();
    await fast.close();
  });

  /** Creates a hold that expires after `milliseconds`, and returns its id. */
  async function holdFor(milliseconds: number, { startDate, endDate }: BookingBody): Promise<string> {
    const { body } = await fast.call('POST', '/api/booking-holds', { body: { bayId, startDate, endDate } });
    const expiry = `now() + ${milliseconds} * interval '1 ms'`;
    await query(fast.db, `update booking_hold set expires_at = ${expiry} where id = $1::uuid`, [body.id]);
    return body.id;
  }

  const countBookings = async ({ startDate }: BookingBody) =>
    (await fast.db('booking').where({ bay_id: bayId, start_date: startDate })).length;
  const liveHolds = () => query(fast.db, 'select from booking_hold where bay_id = $1 and expires_at > now()', [bayId]);

  test('if the owner of a hold and another client compete for its time slot, exactly one of them gets it', async () => {
    const winners = { owner: 0, competitor: 0 };
    for (let round = 0; round < rounds(60); round += 1) {
      const body = bookingBody({ bayId });
      const isBookingByCompetitor = round % 2 === 1;
      // The holds expire after 0 to 15 ms, so that some of them expire while the two requests run.
      const holdId = await holdFor(round % 16, body);
      const [owner, competitor] = await Promise.all([
        slow.call('POST', '/api/bookings', { body: { ...body, holdId } }),
        isBookingByCompetitor
          ? fast.call('POST', '/api/bookings', { body, token: otherToken })
          : fast.call('POST', '/api/booking-holds', { body: holdBody(body), token: otherToken }),
      ]);
      const [winner, loser] = owner.status === 201 ? [owner, competitor] : [competitor, owner];
      winners[winner === owner ? 'owner' : 'competitor'] += 1;
      expect([winner?.status, loser?.status]).toEqual([201, 400]);
      expect(errorCodes(loser as typeof owner)).toEqual(['BOOK00002']);
      expect(await countBookings(body)).toBe(winner === owner || isBookingByCompetitor ? 1 : 0);
      if (winner === competitor && !isBookingByCompetitor)
        await fast.call('DELETE', `/api/booking-holds/${competitor.body.id}`, { token: otherToken });
      await eventually(liveHolds, (holds) => holds.length === 0);
    }
    // The timing decides which of the two wins a round, so the test does not expect a certain number for each.
    expect(winners.owner + winners.competitor).toBe(rounds(60));
    expect([...fast.databaseErrors, ...slow.databaseErrors]).toEqual([]);
  }, 60_000);

  test('a booking succeeds even if its hold expires while the booking waits for the lock of the bay', async () => {
    const body = bookingBody({ bayId });
    const booking = await transaction(fast.db, async (tx) => {
      // The booking request reaches the lock in less than 300 ms, so the hold expires while the request waits.
      const holdId = await holdFor(300, body);
      await query(tx, "select from bay where facility_id = 'fac-north' and id = $1 for no key update", [bayId]);
      const request = slow.call('POST', '/api/bookings', { body: { ...body, holdId } });
      await eventually(() => isTransactionWaiting(fast.db));
      await eventually(liveHolds, (holds) => holds.length === 0);
      return { request };
    });
    expect((await booking.request).status).toBe(201);
    expect(await countBookings(body)).toBe(1);
  });
});
