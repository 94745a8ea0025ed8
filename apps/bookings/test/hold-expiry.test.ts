// Tests holds that expire while a booking uses them. The clock of the database decides when a hold expires.
//
// Two clients compete for a time slot: the owner of the hold, and another client. Exactly one of them must get the time
// slot. If the two requests saw different times, both could be rejected: one because of the hold, and the other because
// the hold has expired.
import { query } from '@bay-booking/service/database/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { type BookingBody, bookingBody, errorCodes } from './support/booking-requests.ts';
import { isTransactionWaiting } from './support/lock-waits.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';
import { until } from './support/until.ts';

const bayId = 'bay-n1-08';
const clockAheadBy = (minutes: number) => () => new Date(Date.now() + minutes * 60_000);

// The clock of one instance is 20 minutes fast, and the clock of the other is 20 minutes slow.
let fast: TestSystem;
let slow: TestSystem;
let tokenOfOtherClient: string;
beforeAll(async () => {
  fast = await createTestSystem({ now: clockAheadBy(20) });
  slow = await createTestSystem({ now: clockAheadBy(-20), sharing: fast });
  tokenOfOtherClient = await fast.token(['fac-north', 'fac-south'], { client_id: 'other', sub: 'somebody-else' });
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

const countBookings = async ({ startDate }: BookingBody): Promise<number> => {
  const sql = 'select count(*)::int as n from booking where bay_id = $1 and start_date = $2';
  return (await query<{ n: number }>(fast.db, sql, [bayId, startDate]))[0]?.n ?? 0;
};
const liveHolds = () => query(fast.db, 'select from booking_hold where bay_id = $1 and expires_at > now()', [bayId]);

test('if the owner of a hold and another client compete for its time slot, exactly one of them gets it', async () => {
  const winners = { owner: 0, competitor: 0 };
  for (let round = 0; round < 60; round += 1) {
    const body = bookingBody({ bayId });
    const isBookingByCompetitor = round % 2 === 1;
    // The holds expire after 0 to 15 ms, so that some of them expire while the two requests run.
    const holdId = await holdFor(round / 4, body);
    const [owner, competitor] = await Promise.all([
      slow.call('POST', '/api/bookings', { body: { ...body, holdId } }),
      isBookingByCompetitor
        ? fast.call('POST', '/api/bookings', { body, token: tokenOfOtherClient })
        : fast.call('POST', '/api/booking-holds', {
            body: { bayId, startDate: body.startDate, endDate: body.endDate },
            token: tokenOfOtherClient,
          }),
    ]);
    const [winner, loser] = owner.status === 201 ? [owner, competitor] : [competitor, owner];
    winners[winner === owner ? 'owner' : 'competitor'] += 1;
    expect([winner?.status, loser?.status]).toEqual([201, 400]);
    expect(errorCodes(loser as typeof owner)).toEqual(['BOOK00002']);
    expect(await countBookings(body)).toBe(winner === owner || isBookingByCompetitor ? 1 : 0);
    if (winner === competitor && !isBookingByCompetitor)
      await fast.call('DELETE', `/api/booking-holds/${competitor.body.id}`, { token: tokenOfOtherClient });
    await until(liveHolds, (holds) => holds.length === 0);
  }
  // The timing decides which of the two wins a round, so the test does not expect a certain number for each.
  expect(winners.owner + winners.competitor).toBe(60);
  expect([...fast.databaseErrors, ...slow.databaseErrors]).toEqual([]);
}, 60_000);

test('a booking succeeds even if its hold expires while the booking waits for the lock of the bay', async () => {
  const lockHolder = new pg.Client({ connectionString: fast.databaseUrl });
  await lockHolder.connect();
  try {
    const body = bookingBody({ bayId });
    await lockHolder.query('begin');
    // The booking request reaches the lock in less than 300 ms, so the hold expires while the request waits.
    const holdId = await holdFor(300, body);
    await lockHolder.query('select from bay where facility_id = $1 and id = $2 for no key update', [
      'fac-north',
      bayId,
    ]);
    const booking = slow.call('POST', '/api/bookings', { body: { ...body, holdId } });
    await until(() => isTransactionWaiting(fast.db), Boolean);
    await until(liveHolds, (holds) => holds.length === 0);
    await lockHolder.query('commit');
    expect((await booking).status).toBe(201);
    expect(await countBookings(body)).toBe(1);
  } finally {
    await lockHolder.end();
  }
});
