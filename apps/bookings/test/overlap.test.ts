// The rule of overlap, for any two intervals: what the API accepts is what half-open intervals and instants say. Contract section 7.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { errorCodes } from './support/booking-requests.ts';
import { createTestSystem, type TestSystem } from './support/test-system.ts';

let system: TestSystem;
beforeAll(async () => {
  system = await createTestSystem();
});
afterAll(() => system.close());

interface Interval {
  readonly start: number;
  readonly end: number;
}

/** Half-open; an instant is the one point that it is. */
function overlap(a: Interval, b: Interval): boolean {
  if (a.start === a.end && b.start === b.end) return a.start === b.start;
  if (a.start === a.end) return b.start <= a.start && a.start < b.end;
  if (b.start === b.end) return overlap(b, a);
  return a.start < b.end && b.start < a.end;
}

const intervals = fc.tuple(fc.nat(8), fc.nat(4)).map(([start, length]): Interval => ({ start, end: start + length }));
const epoch = Date.UTC(2045, 0, 1);
let day = 0;

test('bookings are accepted until one overlaps, and searches find exactly what overlaps', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(intervals, { minLength: 1, maxLength: 8 }), intervals, async (wanted, asked) => {
      day += 1;
      const at = (hour: number) => new Date(epoch + day * 86_400_000 + hour * 3_600_000).toISOString();
      const kept: Interval[] = [];
      for (const interval of wanted) {
        const body = { bayId: 'bay-n1-01', userAlias: 'Ann', startDate: at(interval.start), endDate: at(interval.end) };
        const response = await system.call('POST', '/api/bookings', { body });
        if (kept.some((other) => overlap(other, interval))) expect(errorCodes(response)).toEqual(['BOOK00002']);
        else {
          expect(response.status).toBe(201);
          kept.push(interval);
        }
      }
      const query = `startDate=${at(asked.start)}&endDate=${at(asked.end)}`;
      const found = async (path: string) =>
        (await system.call('GET', path)).body.items.map(({ startDate }: { startDate: string }) => startDate);
      const starts = (select: (interval: Interval) => boolean) =>
        kept
          .filter(select)
          .map(({ start }) => at(start))
          .sort();
      expect(await found(`/api/bookings?bayIds=bay-n1-01&${query}`)).toEqual(
        starts((interval) => overlap(interval, asked)),
      );
      expect(await found(`/api/bookings?locationIds=loc-north-1&${query}`)).toEqual(
        starts(({ start, end }) => asked.start <= start && end <= asked.end),
      );
    }),
    { numRuns: 40 },
  );
}, 60_000);
