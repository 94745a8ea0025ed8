// Tests the rules for the dates of a booking with generated input.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findDateErrors } from './reservation.ts';

const instants = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9999-12-30T00:00:00Z'),
  noInvalidDate: true,
});

test('findDateErrors returns ERR00010 exactly if endDate < startDate, and ERR00011 exactly if endDate < now', () => {
  fc.assert(
    fc.property(instants, instants, instants, (start, end, now) => {
      const endsBeforeStart = end < start;
      const codes = findDateErrors({ start, end, isReversed: endsBeforeStart }, now);
      const endsBeforeNow = end < now;
      return codes.includes('ERR00010') === endsBeforeStart && codes.includes('ERR00011') === endsBeforeNow;
    }),
  );
});

test('findDateErrors returns nothing if startDate, endDate and now are equal', () => {
  const now = new Date();
  expect(findDateErrors({ start: now, end: now, isReversed: false }, now)).toEqual([]);
});
