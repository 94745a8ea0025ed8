// Tests which bookings the demo has on a day.
import { expect, test } from '@jest/globals';
import { demoBookings } from './demo-day.ts';

const now = '2027-03-27T12:00:00.000Z';

test('40 bookings of today and the last week over ten bays, and a league of 8 weeks on the wall clock', () => {
  const bookings = demoBookings(now);
  expect(bookings).toHaveLength(64);
  expect(new Set(bookings.map(({ externalBookingId }) => externalBookingId)).size).toBe(64);
  expect(new Set(bookings.map(({ bayId }) => bayId)).size).toBe(10);
  for (const one of bookings) {
    expect(one.metadata).toMatchObject({ demo: 'yes' });
    expect(one.metadata.attendance === undefined).toBe(one.startDate >= now);
    const others = bookings.filter(({ bayId }) => bayId === one.bayId);
    expect(others.filter(({ startDate, endDate }) => startDate < one.endDate && endDate > one.startDate)).toEqual([
      one,
    ]);
  }
  const league = bookings.filter(({ group }) => group === 'league');
  // The clocks change on 28 March.
  expect([league[0], league[3]].map((one) => one?.startDate)).toEqual([
    '2027-03-27T17:00:00.000Z',
    '2027-04-03T16:00:00.000Z',
  ]);
  const commandBays = ['bay-n1-01', 'bay-n1-02', 'bay-n1-10'];
  expect(bookings.filter(({ bayId, startDate }) => startDate > '2027-03-28' && commandBays.includes(bayId))).toEqual(
    [],
  );
});

test('another start on the same day has the same ids', () => {
  const idsAt = (time: string) => demoBookings(time).map(({ externalBookingId }) => externalBookingId);
  expect(idsAt('2027-03-27T22:59:00.000Z')).toEqual(idsAt('2027-03-26T23:01:00.000Z'));
});
