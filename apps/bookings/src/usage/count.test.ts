// Tests how times are divided on the days when the clocks change, and at the ends of interval and opening hours.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findSchedule } from '../opening-hours/store.ts';
import { countUsage } from './count.ts';
import type { Division } from './timeline.ts';

const timeZone = 'Europe/Copenhagen';
const ms = Date.parse;
const nineToTen = { weekly: { sunday: [{ opens: '01:00', closes: '10:00' }] }, exceptions: [] };

function usageOf(by: Division, start: string, end: string, bookings: readonly [string, string][], hours = nineToTen) {
  const bays = [{ id: 'b', schedule: findSchedule(hours, timeZone), removedAt: undefined }];
  const [starts, ends] = [bookings.map(([from]) => ms(from)), bookings.map(([, to]) => ms(to))];
  const rows = [{ key: 'b', starts, ends, noShows: [], cancellations: [ms(start) - 1, ms(start), ms(end)] }];
  return countUsage({ by, interval: { start: ms(start), end: ms(end) }, timeZone, bays, rows });
}

test('the hour that occurs twice has 120 minutes, the skipped hour has none, and the days have 25 and 23 hours', () => {
  const autumn = ['2030-10-26T22:00Z', '2030-10-27T23:00Z'] as const;
  const minutes = usageOf('hour', ...autumn, [autumn as never]).map(({ key, bookedMinutes, openMinutes }) => [
    key,
    bookedMinutes,
    openMinutes,
  ]);
  expect(minutes.slice(0, 4)).toEqual([
    ['0', 60, 0],
    ['1', 60, 60],
    ['2', 120, 120],
    ['3', 60, 60],
  ]);
  expect(usageOf('day', ...autumn, [autumn as never])).toMatchObject([
    { key: '2030-10-27', bookings: 1, bookedMinutes: 1500, openMinutes: 600, occupancy: 1, cancelled: 1 },
  ]);
  const spring = ['2030-03-30T23:00Z', '2030-03-31T22:00Z'] as const;
  expect(usageOf('hour', ...spring, [spring as never])[2]).toMatchObject({
    key: '2',
    bookedMinutes: 0,
    openMinutes: 0,
    occupancy: null,
  });
  expect(usageOf('day', ...spring, [])[0]).toMatchObject({ openMinutes: 480, occupancy: 0 });
});

test('a booking counts where it begins, its minutes are split and clipped, and only those in opening hours occupy', () => {
  const items = usageOf('day', '2030-05-04T22:00Z', '2030-05-06T10:00Z', [
    ['2030-05-04T20:00Z', '2030-05-04T23:30Z'],
    ['2030-05-05T20:00Z', '2030-05-06T12:00Z'],
    ['2030-05-05T07:00Z', '2030-05-05T07:00Z'],
  ]);
  expect(items).toEqual([
    // 90 minutes of the first booking, 30 of them after 01:00; 120 of the second one.
    {
      key: '2030-05-05',
      bookings: 2,
      bookedMinutes: 210,
      openMinutes: 540,
      occupancy: 0.0556,
      cancelled: 1,
      noShows: 0,
    },
    { key: '2030-05-06', bookings: 0, bookedMinutes: 720, openMinutes: 0, occupancy: null, cancelled: 0, noShows: 0 },
  ]);
  expect(usageOf('weekday', '2030-05-05T00:00Z', '2030-05-05T00:00Z', []).map(({ key }) => key)).toEqual(
    'monday tuesday wednesday thursday friday saturday sunday'.split(' '),
  );
});

const start = ms('2030-03-28T00:00Z');
const minute = fc.integer({ min: 0, max: 7 * 24 * 60 });
test('all divisions have the same sums of bookings and minutes', () => {
  fc.assert(
    fc.property(minute, minute, fc.array(fc.tuple(minute, fc.nat(3_000))), (first, second, times) => {
      const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();
      const interval = [at(Math.min(first, second)), at(Math.max(first, second))] as const;
      const bookings = times.map(([from, length]) => [at(from), at(from + length)] as [string, string]);
      const sums = (['day', 'weekday', 'hour', 'bay'] as const).map((by) =>
        usageOf(by, ...interval, bookings).reduce(
          ([count, booked, open], item) => [
            (count as number) + item.bookings,
            (booked as number) + item.bookedMinutes,
            (open as number) + (item.openMinutes ?? 0),
          ],
          [0, 0, 0],
        ),
      );
      for (const sum of sums) expect(sum).toEqual(sums[0]);
    }),
    { numRuns: 50 },
  );
});
