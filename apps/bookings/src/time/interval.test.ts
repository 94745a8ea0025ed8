// Compares operations on intervals with simple definitions, for generated intervals.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { contains, doOverlap, type Interval } from './interval.ts';

const intervals = fc.tuple(fc.nat(8), fc.nat(4)).map(([start, length]): Interval => ({ start, end: start + length }));

/** An interval does not include its end, unless its start equals its end. */
const includes = ({ start, end }: Interval, instant: number): boolean =>
  start === end ? instant === start : start <= instant && instant < end;

test('intervals overlap exactly if an instant is in both', () => {
  fc.assert(
    fc.property(intervals, intervals, (a, b) => {
      const instants = Array.from({ length: 13 }, (_, instant) => instant);
      expect(doOverlap(a, b)).toBe(instants.some((instant) => includes(a, instant) && includes(b, instant)));
      expect(contains(a, b)).toBe(includes(a, b.start) && b.end <= a.end);
    }),
    { numRuns: 1_000 },
  );
});
