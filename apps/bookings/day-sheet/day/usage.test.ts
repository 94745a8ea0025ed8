// Tests the dates, sums and rows of the page about usage.
import type { BookingUsageItem } from '@bay-booking/client';
import { expect, test } from '@jest/globals';
import {
  addNames,
  compareUsage,
  describeDates,
  labelOfUsage,
  readUsageChoice,
  sumUsage,
  type UsageDivision,
  usageDates,
} from './usage.ts';

test.each([
  ['week', '2027-01-03', 0, '2026-12-28', '2027-01-04'],
  ['week', '2027-01-04', -1, '2026-12-28', '2027-01-04'],
  ['month', '2027-03-31', -1, '2027-02-01', '2027-03-01'],
  ['month', '2027-12-31', 1, '2028-01-01', '2028-02-01'],
] as const)('the %s of %s and %s later', (unit, date, offset, from, to) =>
  expect(usageDates(unit, date, offset)).toEqual({ from, to }),
);

test('a sum weighs the occupancy of each item by its open minutes, and closed items have none', () => {
  const item = { bookings: 2, bookedMinutes: 90, openMinutes: 600, occupancy: 0.1, cancelled: 1, noShows: 0 };
  const closed = { ...item, openMinutes: 0, occupancy: null, noShows: 1 };
  const sum = { bookings: 6, bookedMinutes: 270, openMinutes: 800, cancelled: 3, noShows: 1 };
  expect(sumUsage([item, closed, { ...item, openMinutes: 200, occupancy: 0.5 }])).toEqual({ ...sum, occupancy: 0.2 });
  expect(sumUsage([closed]).occupancy).toBeNull();
  expect(sumUsage([])).toEqual({
    bookings: 0,
    bookedMinutes: 0,
    openMinutes: 0,
    occupancy: null,
    cancelled: 0,
    noShows: 0,
  });
});

test.each([
  ['usage', { usage: 'week', by: 'day' }],
  ['usage=month&by=toString', { usage: 'month', by: 'day' }],
  ['usage=__proto__&by=client', { usage: 'week', by: 'client' }],
  ['by=day', undefined],
])('the address %s', (text, choice) => expect(readUsageChoice(new URLSearchParams(text))).toEqual(choice));

const itemOf = (key: string | null, bookedMinutes: number): BookingUsageItem => ({
  ...sumUsage([]),
  key,
  bookedMinutes,
});

test('a day is compared with the day at its place, a program with itself, and one without bookings now stays', () => {
  const minutesOf = (rows: ReturnType<typeof compareUsage>) =>
    rows.map(({ key, now, before }) => [key, now.bookedMinutes, before?.bookedMinutes]);
  const days = [itemOf('2026-03-01', 1), itemOf('2026-03-02', 2)];
  expect(minutesOf(compareUsage('day', days, [itemOf('2026-02-01', 7)]))).toEqual([
    ['2026-03-01', 1, 7],
    ['2026-03-02', 2, undefined],
  ]);
  const programs = compareUsage('client', [itemOf(null, 1), itemOf('a', 2)], [itemOf('b', 9), itemOf('a', 3)]);
  expect(minutesOf(programs)).toEqual([
    ['a', 2, 3],
    [null, 1, 0],
    ['b', 0, 9],
  ]);
});

test('rows and periods have names, never ids where there is a name', () => {
  expect(describeDates('week', { from: '2026-11-23', to: '2026-11-30' })).toBe('23–29 Nov 2026');
  expect(describeDates('month', { from: '2026-11-01', to: '2026-12-01' })).toBe('November 2026');
  const label = (by: UsageDivision, key: string | null) =>
    labelOfUsage(by, key, [{ id: 'bay-1', name: 'Bay 1' }], {
      people: [{ subject: 'acc-bot', name: 'Bot', kind: 'service', role: null, former: false }],
      clients: [{ clientId: 'pat-1', name: 'Website', subject: 'acc-bot' }],
    });
  const labels = [
    label('day', '2026-12-01'),
    label('hour', '9'),
    label('weekday', 'monday'),
    label('bay', 'bay-1'),
    label('bay', 'bay-2'),
    label('client', 'pat-1'),
    label('client', null),
  ];
  expect(labels).toEqual([
    'Tue 1 Dec',
    '09:00–10:00',
    'Monday',
    'Bay 1',
    'A removed bay',
    'Website (Bot)',
    'Not known any more',
  ]);
});

test('a name in the CSV is one cell and no formula', () => {
  const csv = addNames('key,bookings\r\na,1\r\nb,2\r\n', ['=1+1, "x"', 'Ada']);
  expect(csv).toBe(`key,bookings,name\r\na,1,"'=1+1, ""x"""\r\nb,2,"Ada"\r\n`);
});
