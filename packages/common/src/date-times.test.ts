// Tests the parsers of date-times with generated input.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseDates, parseDateTime } from './date-times.ts';

const instants = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9999-12-30T00:00:00Z'),
  noInvalidDate: true,
});
const offsets = fc.record({
  sign: fc.constantFrom('+', '-'),
  hours: fc.integer({ min: 0, max: 23 }),
  minutes: fc.integer({ min: 0, max: 59 }),
});
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 300, size: 'max' });
const twoDigits = (value: number) => String(value).padStart(2, '0');

test('parseDateTime parses every date-time that a response can contain', () => {
  const isParsed = (instant: Date) => parseDateTime(instant.toISOString())?.getTime() === instant.getTime();
  fc.assert(fc.property(instants, isParsed));
});

test('parseDateTime converts an offset to the same instant in UTC', () => {
  fc.assert(
    fc.property(instants, offsets, (instant, { sign, hours, minutes }) => {
      const shift = (hours * 60 + minutes) * (sign === '-' ? -60_000 : 60_000);
      const local = new Date(instant.getTime() + shift);
      fc.pre(local.getUTCFullYear() >= 1 && local.getUTCFullYear() <= 9999);
      const text = `${local.toISOString().slice(0, -1)}${sign}${twoDigits(hours)}:${twoDigits(minutes)}`;
      return parseDateTime(text)?.getTime() === instant.getTime();
    }),
  );
});

test('parseDateTime cuts off digits beyond milliseconds', () => {
  fc.assert(
    fc.property(instants, digits, (instant, more) => {
      const text = instant.toISOString().replace('Z', `${more}Z`);
      return parseDateTime(text)?.getTime() === instant.getTime();
    }),
  );
});

test('parseDateTime never throws, and returns only valid dates of the years 1 to 9999', () => {
  // Date-times of which some parts are invalid, for example month 13 or 14.
  const almostValid = fc
    .tuple(
      fc.constantFrom('2030', '0000', '9999', '10000'),
      fc.nat(14),
      fc.nat(32),
      fc.nat(25),
      fc.nat(61),
      fc.nat(61),
      fc.constantFrom('Z', 'z', '', '+02:00', '-23:59', '+24:00', ' 02:00', '+0200', '+02'),
    )
    .map(([year, month, day, hour, minute, second, zone]) => {
      const date = [year, twoDigits(month), twoDigits(day)].join('-');
      return `${date}T${[hour, minute, second].map(twoDigits).join(':')}${zone}`;
    });
  fc.assert(
    fc.property(fc.oneof(fc.string(), almostValid), (text) => {
      const parsed = parseDateTime(text);
      return parsed === undefined || /^\d{4}-.*Z$/.test(parsed.toISOString());
    }),
  );
});

test.each(['2030-02-29', '2030-04-31', '2030-13-01', '2030-00-01', '2030-01-00', '2100-02-29'])(
  'parseDateTime rejects a day that does not exist: %s',
  (day) => expect(parseDateTime(`${day}T00:00:00Z`)).toBeUndefined(),
);

test.each([
  ['2030-12-31T23:59:60Z', '2031-01-01T00:00:00.000Z'],
  ['2030-06-30T23:59:60.25', '2030-07-01T00:00:00.250Z'],
  ['2030-06-30t21:59:60-0200', '2030-07-01T00:00:00.000Z'],
  ['2030-06-30T23:59:61Z', undefined],
  ['9999-12-31T23:59:60Z', undefined],
])('parseDateTime reads a leap second, %s, as %s', (text, expected) =>
  expect(parseDateTime(text)?.toISOString()).toBe(expected),
);

test('parseDateTime accepts 29 February of a leap year', () => {
  expect(parseDateTime('2028-02-29T00:00:00Z')?.toISOString()).toBe('2028-02-29T00:00:00.000Z');
});

test('parseDates compares two dates of the same millisecond with all their digits', () => {
  const fewDigits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 12 });
  const withFraction = (fraction: string) => `2030-01-01T10:00:00.${fraction}Z`;
  fc.assert(
    fc.property(fewDigits, fewDigits, (first, second) => {
      const [startDate, endDate] = [first, second].map((fraction) => withFraction(`000${fraction}`));
      const { isReversed } = parseDates({ startDate, endDate });
      return isReversed === Number(`0.${second}`) < Number(`0.${first}`);
    }),
  );
});
