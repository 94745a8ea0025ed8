// Tests the dates and sums of the page about usage.
import { expect, test } from '@jest/globals';
import { sumUsage, usageDates } from './usage.ts';

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
