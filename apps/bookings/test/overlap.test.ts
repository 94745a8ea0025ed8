// Compares the overlap rule of the API with a simple implementation, for generated intervals (docs/behaviour.md,
// "Date-times").
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { errorCodes } from './support/booking-requests.ts';
import { createTestSystem } from './support/test-system.ts';

const system = useFixture(() => createTestSystem());

/** `start` and `end` are hours of a day. */
interface Interval {
  readonly start: number;
  readonly end: number;
}

/** An interval does not include its end, unless its start equals its end. */
function isOverlapping(a: Interval, b: Interval): boolean {
  if (a.start === a.end && b.start === b.end) return a.start === b.start;
  if (a.start === a.end) return b.start <= a.start && a.start < b.end;
  if (b.start === b.end) return isOverlapping(b, a);
  return a.start < b.end && b.start < a.end;
}

const intervals = fc.tuple(fc.nat(8), fc.nat(4)).map(([start, length]): Interval => ({ start, end: start + length }));
const firstDay = Date.UTC(2045, 0, 1);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
let day = 0;

test('generated bookings are accepted if they overlap no other booking, and searches find them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(intervals, { minLength: 1, maxLength: 8 }), intervals, async (requested, searched) => {
      // Each run has its own day, so that bookings of different runs do not overlap.
      day += 1;
      const at = (hour: number) => new Date(firstDay + day * dayMs + hour * hourMs).toISOString();
      const accepted: Interval[] = [];
      for (const interval of requested) {
        const body = { bayId: 'bay-n1-01', userAlias: 'Ann', startDate: at(interval.start), endDate: at(interval.end) };
        const response = await system.call('POST', '/api/bookings', { body });
        if (accepted.some((other) => isOverlapping(other, interval)))
          expect(errorCodes(response)).toEqual(['BOOK00002']);
        else {
          expect(response.status).toBe(201);
          accepted.push(interval);
        }
      }
      const query = `startDate=${at(searched.start)}&endDate=${at(searched.end)}`;
      const findStarts = async (path: string) =>
        (await system.call('GET', path)).body.items.map(({ startDate }: { startDate: string }) => startDate);
      const startsOf = (select: (interval: Interval) => boolean) =>
        accepted
          .filter(select)
          .map(({ start }) => at(start))
          .sort();
      // A search by bay finds the bookings that overlap its interval.
      expect(await findStarts(`/api/bookings?bayIds=bay-n1-01&${query}`)).toEqual(
        startsOf((interval) => isOverlapping(interval, searched)),
      );
      // A search by location finds the bookings that lie inside its interval.
      expect(await findStarts(`/api/bookings?locationIds=loc-north-1&${query}`)).toEqual(
        startsOf(({ start, end }) => searched.start <= start && end <= searched.end),
      );
    }),
    { numRuns: 40 },
  );
}, 60_000);
