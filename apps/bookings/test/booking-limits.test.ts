// Tests the limits of a booking: MAX_BOOKING_HOURS and MAX_DAYS_AHEAD (docs/behaviour.md, "Validation").
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { createTestSystem } from './support/test-system.ts';

const now = new Date('2030-05-01T12:00:00Z');
const system = useFixture(() => createTestSystem({ now: () => now, config: { maxBookingHours: 4, maxDaysAhead: 30 } }));
const unlimited = useFixture(() => createTestSystem({ now: () => now }));

const bookingFrom = (startDate: string, endDate: string) => ({
  bayId: 'bay-n1-01',
  userAlias: 'Ann',
  startDate,
  endDate,
});
const problemsOf = ({ body }: Response) =>
  body.errors.map((problem: Record<string, string>) => [problem.code, problem.description, problem.moreInfo]);
const tooLong = ['ERR00002', "'endDate' is invalid.", 'endDate: a booking must not be longer than 4 hours'];
const tooLate = ['ERR00002', "'endDate' is invalid.", 'endDate: a booking must not end later than 30 days from now'];

test.each([
  ['that is longer than MAX_BOOKING_HOURS', '2030-05-02T08:00:00Z', '2030-05-02T12:00:00.001Z', [tooLong]],
  ['that ends later than MAX_DAYS_AHEAD', '2030-05-31T11:00:00Z', '2030-05-31T12:00:00.001Z', [tooLate]],
  ['with both errors', '2030-05-02T08:00:00Z', '9999-12-31T00:00:00Z', [tooLong, tooLate]],
])('a booking or hold %s gets ERR00002 with the limit in moreInfo', async (_title, start, end, problems) => {
  const body = bookingFrom(start, end);
  for (const path of ['/api/bookings', '/api/booking-holds']) {
    // A hold has no user alias.
    const { userAlias: _, ...holdBody } = body;
    const response = await system.call('POST', path, { body: path === '/api/bookings' ? body : holdBody });
    expect(response.status).toBe(400);
    expect(problemsOf(response)).toEqual(problems);
  }
});

test('a booking can have the maximum length and the latest end, and the limits apply to updates', async () => {
  const longest = bookingFrom('2030-05-31T08:00:00Z', '2030-05-31T12:00:00Z');
  const { status, body } = await system.call('POST', '/api/bookings', { body: longest });
  expect(status).toBe(201);
  const change = { ...longest, startDate: '2030-05-31T07:59:59Z' };
  const response = await system.call('PUT', `/api/bookings/${body.id}`, { body: change });
  expect(response.status).toBe(400);
  expect(problemsOf(response)).toEqual([tooLong]);
});

test('without MAX_BOOKING_HOURS and MAX_DAYS_AHEAD, bookings have no limits', async () => {
  const body = bookingFrom('2030-05-02T08:00:00Z', '9999-12-31T00:00:00Z');
  expect((await unlimited.call('POST', '/api/bookings', { body })).status).toBe(201);
});
