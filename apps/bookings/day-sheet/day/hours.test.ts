// Tests how the form of opening hours reads and writes them.
import { expect, test } from '@jest/globals';
import { describeRanges, noteOf, readHours } from './hours.ts';

const read = (values: Readonly<Record<string, object>>) => readHours((field) => JSON.stringify(values[field] ?? []));
const monday = [
  { opens: '07:00', closes: '12:00' },
  { opens: '20:00', closes: '02:00' },
];
const [unclosed, unopened] = [
  { opens: '07:00', closes: '' },
  { opens: '', closes: '07:00' },
];
const christmas = { date: '2026-12-24', hours: [] };

test('closed days are left out, and hours are texts', () => {
  expect(read({ monday, exceptions: [christmas] })).toEqual({ weekly: { monday }, exceptions: [christmas] });
  expect(describeRanges(monday)).toBe('07:00-12:00, 20:00-02:00');
});

test.each([
  [{ tuesday: [unclosed] }, 'tuesday', /the closing time/],
  [{ sunday: [unopened] }, 'sunday', /the opening time/],
  [{ exceptions: [christmas, christmas] }, 'exceptions-1', /in the list already/],
  [{ exceptions: [{ date: '', hours: monday }] }, 'exceptions-0', /enter the date/],
  [{ exceptions: [christmas, { date: '2026-12-25', hours: [unclosed] }] }, 'exceptions-1', /the closing time/],
])('%j is refused at the field %s', (values, field, message) => {
  expect(() => read(values)).toThrow(expect.objectContaining({ field, message: expect.stringMatching(message) }));
});

test('hours over midnight are marked', () => {
  expect(
    [
      ['07:00', '22:00'],
      ['07:00', '02:00'],
      ['00:00', '00:00'],
      ['07:00', ''],
    ].map(([opens = '', closes = '']) => noteOf({ opens, closes })),
  ).toEqual(['', 'on the next day', 'for 24 hours', '']);
});
