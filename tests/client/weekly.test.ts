// Tests the function `weekly` of packages/client across changes of the clocks.
import { weekly } from '@bay-booking/client';
import { describe, expect, test } from '@jest/globals';

const copenhagen = (start: string, end: string, weeks = 2) =>
  weekly({ timeZone: 'Europe/Copenhagen', start, end, weeks }).map(
    ({ startDate, endDate }) => `${startDate} ${endDate}`,
  );

test.each([
  ['Europe/Copenhagen', '2026-10-19T18:00', '2026-10-19T16:00:00.000Z', '2026-10-26T17:00:00.000Z'],
  // New York changes its clocks on another day than Copenhagen, and the southern hemisphere in the other direction.
  ['America/New_York', '2027-03-08T07:30', '2027-03-08T12:30:00.000Z', '2027-03-15T11:30:00.000Z'],
  ['Australia/Sydney', '2026-10-01T18:00', '2026-10-01T08:00:00.000Z', '2026-10-08T07:00:00.000Z'],
  // Lord Howe changes its clocks by half an hour, and Kathmandu never.
  ['Australia/Lord_Howe', '2026-10-01T18:00', '2026-10-01T07:30:00.000Z', '2026-10-08T07:00:00.000Z'],
  ['Asia/Kathmandu', '2026-10-01T18:00', '2026-10-01T12:15:00.000Z', '2026-10-08T12:15:00.000Z'],
  ['UTC', '2026-12-29T23:59:30', '2026-12-29T23:59:30.000Z', '2027-01-05T23:59:30.000Z'],
])('a start in %s at %s stays at the same local time', (timeZone, start, first, second) => {
  const end = `${start.slice(0, 8)}30T00:00`;
  expect(weekly({ timeZone, start, end, weeks: 2 }).map(({ startDate }) => startDate)).toEqual([first, second]);
});

describe('times on the day of a change', () => {
  test('a time that occurs twice means the first one', () => {
    expect(copenhagen('2026-10-18T02:30', '2026-10-18T03:30')).toEqual([
      '2026-10-18T00:30:00.000Z 2026-10-18T01:30:00.000Z',
      // The booking lasts two hours: from the first 02:30 (summer time) to 03:30.
      '2026-10-25T00:30:00.000Z 2026-10-25T02:30:00.000Z',
    ]);
  });

  test('a time that the clocks skip means the instant after the gap', () => {
    expect(copenhagen('2027-03-21T02:30', '2027-03-21T03:30')).toEqual([
      '2027-03-21T01:30:00.000Z 2027-03-21T02:30:00.000Z',
      '2027-03-28T01:00:00.000Z 2027-03-28T01:30:00.000Z',
    ]);
  });

  test('a week in which no time remains is a RangeError', () => {
    expect(() => copenhagen('2027-03-21T02:00', '2027-03-21T02:45')).toThrow(RangeError);
    expect(copenhagen('2027-03-21T02:00', '2027-03-21T02:45', 1)).toHaveLength(1);
  });
});

test.each([
  ['an end before the start', { end: '2026-10-19T17:00' }],
  ['an end at the start', { end: '2026-10-19T18:00' }],
  ['a time with a zone', { start: '2026-10-19T18:00Z' }],
  ['a date alone', { start: '2026-10-19' }],
  ['a day that does not exist', { start: '2026-02-30T18:00' }],
  ['an unknown time zone', { timeZone: 'Europe/Atlantis' }],
  ['no week', { weeks: 0 }],
  ['half a week', { weeks: 1.5 }],
  ['too many weeks', { weeks: 521 }],
])('%s is a RangeError', (_name, values) => {
  const valid = { timeZone: 'Europe/Copenhagen', start: '2026-10-19T18:00', end: '2026-10-19T19:00', weeks: 8 };
  expect(() => weekly({ ...valid, ...values })).toThrow(RangeError);
});
