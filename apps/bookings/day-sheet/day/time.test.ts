// Tests times on days when the clocks change, in several time zones.
import { expect, test } from '@jest/globals';
import {
  clockAt,
  dayOf,
  dragTimes,
  instantAt,
  localAt,
  meaningsOf,
  moveLike,
  proposedStart,
  rangeOf,
  readDate,
  wallTimeAt,
} from './time.ts';

const copenhagen = 'Europe/Copenhagen';
const iso = (instant: number) => new Date(instant).toISOString();
const read = (local: string, timeZone: string, occurrence = 0) => iso(instantAt({ local, occurrence }, timeZone));

test.each([
  [copenhagen, '2027-03-28T02:30', '2027-03-28T01:00:00.000Z'],
  ['America/New_York', '2027-03-14T02:01', '2027-03-14T07:00:00.000Z'],
  ['America/St_Johns', '2027-03-14T02:59', '2027-03-14T05:30:00.000Z'],
  ['Australia/Lord_Howe', '2027-10-03T02:15', '2027-10-02T15:30:00.000Z'],
  ['Pacific/Apia', '2011-12-30T10:00', '2011-12-30T10:00:00.000Z'],
  ['Asia/Kathmandu', '2027-03-28T02:30', '2027-03-27T20:45:00.000Z'],
])('in %s, %s means %s, also if the clocks skip it', (timeZone, local, expected) =>
  expect(read(local, timeZone)).toBe(expected),
);

test.each([
  [copenhagen, '2027-10-31T02:30', '02:30 CEST', '02:30 CET'],
  ['America/New_York', '2027-11-07T01:00', '01:00 GMT-4', '01:00 GMT-5'],
  ['Australia/Lord_Howe', '2027-04-04T01:45', '01:45 GMT+11', '01:45 GMT+10:30'],
  ['America/St_Johns', '2027-11-07T01:30', '01:30 GMT-2:30', '01:30 GMT-3:30'],
])('in %s, %s occurs twice, and every text carries its zone', (timeZone, local, first, second) => {
  expect(meaningsOf(local, timeZone)).toEqual([first, second]);
  const instants = [0, 1].map((occurrence) => instantAt({ local, occurrence }, timeZone));
  expect(instants.map((instant) => clockAt(instant, timeZone))).toEqual([first, second]);
  for (const instant of instants) expect(instantAt(wallTimeAt(instant, timeZone), timeZone)).toBe(instant);
});

test.each([
  [65, 30, false, [30, 95]],
  [65, 30, true, [0, 95]],
  [65, -60, true, [0, 30]],
  [15, 0, true, [0, 15]],
  [15, -30, true, [0, 15]],
])('a drag of a booking of %s minutes by %s minutes, at its end: %s', (minutes, distance, movesEnd, expected) => {
  const [end, by] = [minutes, distance].map((count) => count * 60_000) as [number, number];
  const dragged = dragTimes({ start: 0, end }, by, movesEnd);
  expect([dragged.start, dragged.end].map((instant) => instant / 60_000)).toEqual(expected);
});

test('a range in the hour that occurs twice has both zones, and times beside it have none', () => {
  const range = (startDate: string, endDate: string) =>
    rangeOf({ startDate, endDate }, dayOf('2027-10-31', copenhagen));
  expect(range('2027-10-31T00:30:00Z', '2027-10-31T01:00:00Z')).toBe('02:30 CEST–02:00 CET');
  expect(range('2027-10-31T02:00:00Z', '2027-10-31T03:00:00Z')).toBe('03:00–04:00');
});

test.each([
  ['2027-10-30T18:00', '2027-10-31T18:00', ['2027-10-24T18:00', '2027-10-31T18:00', '2027-11-07T18:00']],
  ['2027-03-27T08:00', '2027-03-28T09:00', ['2027-03-21T09:00', '2027-03-28T09:00', '2027-04-04T09:00']],
])('a series that moves from %s to %s keeps its wall clock', (from, to, expected) => {
  const [before, after] = [from, to].map((local) => instantAt({ local, occurrence: 0 }, copenhagen)) as [
    number,
    number,
  ];
  const moved = [-1, 0, 1].map((weeks) => {
    const member = instantAt({ local: from, occurrence: 0 }, copenhagen, weeks);
    return localAt(moveLike(member, before, after, copenhagen), copenhagen);
  });
  expect(moved).toEqual(expected);
});

test('a party that moves within the hour that occurs twice stays together, and one that stays keeps each instant', () => {
  const [first, second] = [0, 1].map((occurrence) =>
    instantAt({ local: '2027-10-31T02:00', occurrence }, copenhagen),
  ) as [number, number];
  expect(moveLike(second, second, first, copenhagen)).toBe(first);
  expect(moveLike(first, first, second, copenhagen)).toBe(second);
  expect([first, second].map((instant) => moveLike(instant, first, first, copenhagen))).toEqual([first, second]);
});

test.each([
  [copenhagen, '2027-01-10', '2027-01-10T23:45', '2027-01-11T00:00'],
  [copenhagen, '2027-01-10', '2027-01-10T23:32', '2027-01-11T00:00'],
  [copenhagen, '2027-01-10', '2027-01-10T10:00', '2027-01-10T10:00'],
  [copenhagen, '2027-01-09', '2027-01-10T10:01', '2027-01-10T10:30'],
  [copenhagen, '2027-03-28', '2027-01-10T10:01', '2027-03-28T12:00'],
  [copenhagen, '2027-03-28', '2027-03-28T01:40', '2027-03-28T03:00'],
  ['Asia/Kathmandu', '2027-01-10', '2027-01-10T10:01', '2027-01-10T10:30'],
])('in %s, a form on the day %s proposes at %s the time %s', (timeZone, date, now, expected) => {
  const instant = instantAt({ local: now, occurrence: 0 }, timeZone);
  expect(localAt(proposedStart(dayOf(date, timeZone), instant), timeZone)).toBe(expected);
});

test.each(['+275760-09-13', '9999-12-31', '0001-01-01', '1999-12-31', '2027-02-30', 'toString', '', null])(
  '%p is no date',
  (text) => expect(readDate(text)).toBeUndefined(),
);
