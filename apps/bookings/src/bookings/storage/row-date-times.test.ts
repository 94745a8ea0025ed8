import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { wireTime } from './row-date-times.ts';

describe('a time of a row on the wire: UTC with milliseconds and Z', () => {
  test.each([
    ['2026-01-31 09:00:00+00', '2026-01-31T09:00:00.000Z'],
    ['2026-01-31 09:00:00.5+00', '2026-01-31T09:00:00.500Z'],
    ['2026-01-31 09:00:00.25+00', '2026-01-31T09:00:00.250Z'],
    ['2026-01-31 09:00:00.125+00', '2026-01-31T09:00:00.125Z'],
    ['2026-01-31 10:00:00.5+01', '2026-01-31T09:00:00.500Z'],
    ['2026-01-31 14:30:00+05:30', '2026-01-31T09:00:00.000Z'],
  ])('%s is %s', (text, expected) => expect(wireTime(text)).toBe(expected));

  test('is what a Date of it says, for every millisecond', () => {
    const within = { min: new Date('1970-01-01'), max: new Date('2999-12-31'), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(within), (date) => {
        const iso = date.toISOString();
        const fraction = iso.slice(19, 23).replace(/\.?0+$/, '');
        expect(wireTime(`${iso.slice(0, 10)} ${iso.slice(11, 19)}${fraction}+00`)).toBe(iso);
      }),
    );
  });
});
