// Tests that timestamps of database rows are converted to ISO 8601 text.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toIso } from './timestamps.ts';

test.each([
  ['2026-01-31 09:00:00+00', '2026-01-31T09:00:00.000Z'],
  ['2026-01-31 09:00:00.5+00', '2026-01-31T09:00:00.500Z'],
  ['2026-01-31 09:00:00.25+00', '2026-01-31T09:00:00.250Z'],
  ['2026-01-31 09:00:00.125+00', '2026-01-31T09:00:00.125Z'],
  ['2026-01-31 10:00:00.5+01', '2026-01-31T09:00:00.500Z'],
  ['2026-01-31 14:30:00+05:30', '2026-01-31T09:00:00.000Z'],
])('toIso formats %s as %s', (text, expected) => expect(toIso(text)).toBe(expected));

test('toIso formats every millisecond as Date does', () => {
  const range = { min: new Date('1970-01-01'), max: new Date('2999-12-31'), noInvalidDate: true };
  fc.assert(
    fc.property(fc.date(range), (date) => {
      const iso = date.toISOString();
      // PostgreSQL leaves out the zeros at the end of a fraction.
      const fraction = iso.slice(19, 23).replace(/\.?0+$/, '');
      expect(toIso(`${iso.slice(0, 10)} ${iso.slice(11, 19)}${fraction}+00`)).toBe(iso);
    }),
  );
});
