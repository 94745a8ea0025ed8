// Date-times and the two rules on them, for all that can be written. Specification, "Errors"; contract section 7.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseDateTime, timeFaults } from './date-times.ts';

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
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 12 });
const two = (value: number) => String(value).padStart(2, '0');

describe('parseDateTime', () => {
  test('reads back what we answer', () => {
    fc.assert(
      fc.property(instants, (instant) => parseDateTime(instant.toISOString())?.getTime() === instant.getTime()),
    );
  });

  test('an offset names the same instant', () => {
    fc.assert(
      fc.property(instants, offsets, (instant, { sign, hours, minutes }) => {
        const shift = (hours * 60 + minutes) * (sign === '-' ? -60_000 : 60_000);
        const local = new Date(instant.getTime() + shift);
        fc.pre(local.getUTCFullYear() >= 1 && local.getUTCFullYear() <= 9999);
        const text = `${local.toISOString().slice(0, -1)}${sign}${two(hours)}:${two(minutes)}`;
        return parseDateTime(text)?.getTime() === instant.getTime();
      }),
    );
  });

  test('digits beyond milliseconds are cut, never rounded, so that order survives', () => {
    fc.assert(
      fc.property(instants, digits, (instant, more) => {
        const text = instant.toISOString().replace('Z', `${more}Z`);
        return parseDateTime(text)?.getTime() === instant.getTime();
      }),
    );
  });

  test('never throws, and what it takes is a valid date of the years 1 to 9999', () => {
    const nearly = fc
      .tuple(
        fc.constantFrom('2030', '0000', '9999', '10000'),
        fc.nat(14),
        fc.nat(32),
        fc.nat(25),
        fc.nat(61),
        fc.nat(61),
        fc.constantFrom('Z', 'z', '', '+02:00', '-23:59', '+24:00', ' 02:00', '+0200', '+02'),
      )
      .map(
        ([year, month, day, hour, minute, second, zone]) =>
          `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}${zone}`,
      );
    fc.assert(
      fc.property(fc.oneof(fc.string(), nearly), (text) => {
        const parsed = parseDateTime(text);
        return parsed === undefined || /^\d{4}-.*Z$/.test(parsed.toISOString());
      }),
    );
  });

  test.each([
    '2030-02-29T00:00:00Z',
    '2030-04-31T00:00:00Z',
    '2030-13-01T00:00:00Z',
    '2030-00-01T00:00:00Z',
    '2030-01-00T00:00:00Z',
    '2100-02-29T00:00:00Z',
  ])('refuses the day that is not: %s', (text) => expect(parseDateTime(text)).toBeUndefined());

  test('takes the 29th of February of a leap year', () => {
    expect(parseDateTime('2028-02-29T00:00:00Z')?.toISOString()).toBe('2028-02-29T00:00:00.000Z');
  });
});

describe('timeFaults', () => {
  test('ERR00010 exactly when endDate is before startDate, ERR00011 exactly when it is before now', () => {
    fc.assert(
      fc.property(instants, instants, instants, (start, end, now) => {
        const faults = timeFaults(start, end, now);
        return faults.includes('ERR00010') === end < start && faults.includes('ERR00011') === end < now;
      }),
    );
  });

  test('startDate = endDate = now is no fault', () => {
    const now = new Date();
    expect(timeFaults(now, now, now)).toEqual([]);
  });
});
