// Tests the rules for the dates of a booking with generated input.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findDateErrors, parseDates } from './date-times.ts';

const instants = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9999-12-30T00:00:00Z'),
  noInvalidDate: true,
});
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 12 });

test('parseDates compares two dates of the same millisecond with all their digits', () => {
  const withFraction = (fraction: string) => `2030-01-01T10:00:00.${fraction}Z`;
  fc.assert(
    fc.property(digits, digits, (first, second) => {
      const { isReversed } = parseDates({
        startDate: withFraction(`000${first}`),
        endDate: withFraction(`000${second}`),
      });
      return isReversed === Number(`0.${second}`) < Number(`0.${first}`);
    }),
  );
});

describe('findDateErrors', () => {
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
});
