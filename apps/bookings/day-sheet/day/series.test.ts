// Tests series: dates on the wall clock, conflicts, and for which bookings of a group a change is.
import type { BookingBay } from '@bay-booking/client';
import { expect, test } from '@jest/globals';
import type { SheetBooking } from './day.ts';
import {
  bookingsInScope,
  bookingsOf,
  checkSeries,
  describeCount,
  movedLike,
  seriesScopes,
  weeklyTimes,
} from './series.ts';
import { instantAt, localAt } from './time.ts';

const copenhagen = 'Europe/Copenhagen';
const wall = (local: string, occurrence = 0) => ({ local, occurrence });
const isoAt = (local: string, timeZone = copenhagen) => new Date(instantAt(wall(local), timeZone)).toISOString();

test.each([
  [copenhagen, '2027-10-24T18:00', 0, ['2027-10-24T16:00', '2027-10-31T17:00', '2027-11-07T17:00']],
  [copenhagen, '2027-10-31T02:00', 1, ['2027-10-31T01:00', '2027-11-07T01:00', '2027-11-14T01:00']],
  [copenhagen, '2027-10-24T02:00', 0, ['2027-10-24T00:00', '2027-10-31T00:00', '2027-11-07T01:00']],
  [copenhagen, '2027-03-21T02:30', 0, ['2027-03-21T01:30', '2027-03-28T01:00', '2027-04-04T00:30']],
  ['America/New_York', '2027-10-31T01:30', 0, ['2027-10-31T05:30', '2027-11-07T05:30', '2027-11-14T06:30']],
  ['Australia/Lord_Howe', '2027-03-28T01:45', 0, ['2027-03-27T14:45', '2027-04-03T14:45', '2027-04-10T15:15']],
])('in %s, the series of %s (occurrence %s) keeps its wall clock', (timeZone, local, occurrence, expected) => {
  const end = wall(local.replace(/T.*/, 'T23:00'));
  const times = weeklyTimes({ start: wall(local, occurrence), end }, timeZone, 3);
  expect(times.map(({ startDate }) => startDate.slice(0, 16))).toEqual(expected);
});

test('a week in which the clocks skip the whole time has no time', () => {
  const times = weeklyTimes({ start: wall('2027-03-21T02:00'), end: wall('2027-03-21T03:00') }, copenhagen, 2);
  expect(times.map(({ startDate, endDate }) => startDate < endDate)).toEqual([true, false]);
});

const league = (bayIds = ['a', 'b', 'c'], weeks = 8) =>
  bookingsOf(
    weeklyTimes({ start: wall('2026-12-01T18:00'), end: wall('2026-12-01T20:00') }, copenhagen, weeks),
    bayIds,
    { userAlias: 'League', externalBookingId: 'L' },
  );

test('a league has each bay on each date, references of its own, and a count that a person would use', () => {
  const bookings = league();
  expect(bookings.map(({ externalBookingId }) => externalBookingId).slice(0, 3)).toEqual(['L', 'L-2', 'L-3']);
  expect(describeCount(bookings, copenhagen)).toBe('24 times on 8 dates');
  expect(describeCount(league(['a']), copenhagen)).toBe('8 dates');
  expect(describeCount(league(['a'], 1), copenhagen)).toBe('1 date');
  expect(describeCount(league(['a', 'b'], 1), copenhagen)).toBe('2 times on 1 date');
});

test('conflicts are in order of time, each with its date, and the other bookings are free', () => {
  const requested = league();
  const problem = (index: number, text: string) => ({ index, text });
  const problems = [
    problem(7, 'Bay b is booked from 18:00 by William.'),
    problem(1, 'Bay b is closed.'),
    problem(1, 'No.'),
  ];
  const { conflicts, free } = checkSeries(requested, problems, { timeZone: copenhagen });
  expect(conflicts).toEqual([
    'Tue 1 Dec 2026: Bay b is closed. No.',
    'Tue 15 Dec 2026: Bay b is booked from 18:00 by William.',
  ]);
  expect(free).toEqual(requested.filter((_, index) => index !== 1 && index !== 7));
});

const bookingOf = (id: string, bayId: string, from: string, to: string): SheetBooking =>
  ({ id, bayId, userAlias: 'Ada', startDate: isoAt(from), endDate: isoAt(to) }) as SheetBooking;

test('a change is for the booking, the date on the wall clock, this and the following dates, or all', () => {
  const group = [
    bookingOf('a1', 'a', '2027-01-05T23:30', '2027-01-06T00:30'),
    bookingOf('b1', 'b', '2027-01-05T00:00', '2027-01-05T01:00'),
    bookingOf('a2', 'a', '2027-01-12T23:30', '2027-01-13T00:30'),
    bookingOf('a3', 'a', '2027-01-19T23:30', '2027-01-20T00:30'),
  ];
  const [, , chosen] = group as [SheetBooking, SheetBooking, SheetBooking, SheetBooking];
  const idsOf = (scope: (typeof seriesScopes)[number][0], of = chosen) =>
    bookingsInScope(group, of, scope, copenhagen).map(({ id }) => id);
  expect(seriesScopes.map(([scope]) => idsOf(scope))).toEqual([['a2'], ['a2'], ['a2', 'a3'], ['a1', 'b1', 'a2', 'a3']]);
  expect(idsOf('date', group[0])).toEqual(['a1', 'b1']);
});

const bays = ['a', 'b', 'c'].map((id) => ({ id, name: `Bay ${id}`, bookable: true }) as BookingBay);
const day = { bays, timeZone: copenhagen };

test('a group moves by bays and on the wall clock, and only a new name is taken over', () => {
  const group = ['2027-10-24', '2027-10-31', '2027-11-07'].map((date) =>
    bookingOf(date, 'a', `${date}T18:00`, `${date}T19:00`),
  ) as [SheetBooking, SheetBooking, SheetBooking];
  const change = {
    bayId: 'b',
    userAlias: 'Ada',
    startDate: isoAt('2027-10-31T19:00'),
    endDate: isoAt('2027-10-31T20:00'),
  };
  const moved = group.map(movedLike(group[1], change, day));
  expect(moved.map(({ startDate }) => localAt(Date.parse(startDate), copenhagen).slice(5))).toEqual([
    '10-24T19:00',
    '10-31T19:00',
    '11-07T19:00',
  ]);
  expect(moved.map(({ bayId }) => bayId)).toEqual(['b', 'b', 'b']);
  expect(movedLike(group[1], { ...change, userAlias: 'Bob' }, day)({ ...group[0], userAlias: ' X ' }).userAlias).toBe(
    'Bob',
  );
  expect(movedLike(group[1], change, day)({ ...group[0], userAlias: ' X ' }).userAlias).toBe(' X ');
  expect(() => movedLike(group[1], { ...change, bayId: 'c' }, day)({ ...group[0], bayId: 'b' })).toThrow(
    'The group cannot move there, because no bay is as far from Bay b.',
  );
  const skipped = { ...change, startDate: isoAt('2027-10-31T02:00'), endDate: isoAt('2027-10-31T02:30') };
  const inSpring = bookingOf('s', 'a', '2028-03-26T18:00', '2028-03-26T18:30');
  expect(() => movedLike(group[1], { ...skipped, endDate: isoAt('2027-10-31T03:00') }, day)(inSpring)).toThrow(
    'no time remains',
  );
});
