// Tests how the form of opening hours reads and writes them.
import { expect, test } from '@jest/globals';
import {
  exceptionsOf,
  noteOf,
  readHours,
  splitExceptions,
  splitRanges,
  writeExceptions,
  writeRanges,
} from './hours.ts';

const read = (texts: Readonly<Record<string, string>>) => readHours((field) => texts[field] ?? '');

test('hours are the same after they were written and read', () => {
  const monday = [
    { opens: '07:00', closes: '12:00' },
    { opens: '20:00', closes: '02:00' },
  ];
  const exceptions = [
    { date: '2026-12-31', hours: monday },
    { date: '2026-12-24', hours: [] },
  ];
  const texts = exceptionsOf({ exceptions } as never);
  expect(read({ monday: writeRanges(monday), exceptions: writeExceptions(texts) })).toEqual({
    weekly: { monday },
    exceptions: exceptions.toReversed(),
  });
  expect(splitExceptions(writeExceptions(texts))).toEqual(texts);
});

test('an empty row is no range, and an unfinished one stays until it is read', () => {
  const rows = [
    { opens: '', closes: '' },
    { opens: '07:00', closes: '' },
  ];
  expect(splitRanges(writeRanges(rows))).toEqual([{ opens: '07:00', closes: '' }]);
  expect(splitExceptions(writeExceptions([{ date: '', ranges: '' }]))).toEqual([{ date: '', ranges: '' }]);
});

test.each([
  [{ tuesday: '07:00-' }, 'tuesday', /the closing time/],
  [{ sunday: '-07:00' }, 'sunday', /the opening time/],
  [{ exceptions: '2026-12-24 \n2026-12-24 ' }, 'exceptions-1', /in the list already/],
  [{ exceptions: ' 07:00-08:00' }, 'exceptions-0', /enter the date/],
  [{ exceptions: '2026-12-24 \n2026-12-25 07:00-' }, 'exceptions-1', /the closing time/],
])('%j is refused at the field %s', (texts, field, message) => {
  expect(() => read(texts)).toThrow(expect.objectContaining({ field, message: expect.stringMatching(message) }));
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
