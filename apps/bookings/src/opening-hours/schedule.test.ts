// Tests opening hours around the changes to and from daylight saving time.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { weekdays } from './hours.ts';
import { createSchedule } from './schedule.ts';

const hourMs = 3_600_000;
/**
 * The changes to and from daylight saving time in 2026. The second change of each zone sets the clocks back. In
 * Asia/Kathmandu the clocks never change, so its entries are any two instants.
 */
const changes = {
  'Europe/Copenhagen': ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'],
  'America/New_York': ['2026-03-08T07:00:00Z', '2026-11-01T06:00:00Z'],
  'Australia/Lord_Howe': ['2026-10-03T15:30:00Z', '2026-04-04T15:00:00Z'],
  'Asia/Kathmandu': ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'],
} as const;
type Zone = keyof typeof changes;
const zones = Object.keys(changes) as Zone[];

const minuteOfDay = fc.integer({ min: 0, max: 24 * 60 - 1 });
const formatTime = (minute: number) =>
  [Math.floor(minute / 60), minute % 60].map((number) => String(number).padStart(2, '0')).join(':');

const wallClockOf = (timeZone: Zone) =>
  new Intl.DateTimeFormat('en', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** Returns what a clock shows at `instant`, in minutes since midnight. */
function minuteOfWallClock(instant: number, format: Intl.DateTimeFormat): number {
  const [hours, minutes] = format.format(instant).split(':').map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}

test.each(zones)('a location in %s is open exactly when the wall clock is within its hours', (zone) => {
  const wallClock = wallClockOf(zone);
  fc.assert(
    fc.property(
      minuteOfDay,
      minuteOfDay,
      fc.constantFrom(...changes[zone]),
      fc.integer({ min: -72 * 60, max: 72 * 60 }),
      (opens, closes, change, offset) => {
        const hours = [{ opens: formatTime(opens), closes: formatTime(closes) }];
        const weekly = Object.fromEntries(weekdays.map((day) => [day, hours]));
        const schedule = createSchedule({ weekly, exceptions: [] }, zone);
        const instant = Date.parse(change) + offset * 60_000;
        const isOpen = schedule.isOpenThroughout({ start: instant, end: instant });
        const now = minuteOfWallClock(instant, wallClock);
        // Hours with equal `opens` and `closes` last the whole day. Hours that close before they open end the next day.
        const isWithin = opens < closes ? opens <= now && now < closes : opens <= now || now < closes;
        // When the clocks are set back, some times of the day occur twice. Opening hours that begin or end at such a
        // time last longer than the wall clock says. Near this change of the clocks, the test therefore does not check
        // that the location is closed outside its hours.
        const isRepeatedTime = change === changes[zone][1] && Math.abs(instant - Date.parse(change)) <= 2 * hourMs;
        if (isWithin || !isRepeatedTime) expect(isOpen).toBe(isWithin);
      },
    ),
    { numRuns: 300 },
  );
});

/** Returns the openings on `day` of a location that opens only on this day of the week, as date-times in UTC. */
const openings = (zone: Zone, opens: string, closes: string, day: string) => {
  // The week of getUTCDay begins on Sunday. The week of `weekdays` begins on Monday.
  const weekday = weekdays[(new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7] ?? 'monday';
  const schedule = createSchedule({ weekly: { [weekday]: [{ opens, closes }] }, exceptions: [] }, zone);
  // The interval contains the whole day in each of the zones, and the night after it.
  const noon = Date.parse(`${day}T12:00:00Z`);
  return schedule
    .openDuring({ start: noon - 36 * hourMs, end: noon + 36 * hourMs })
    .map(({ start, end }) => [start, end].map((instant) => new Date(instant).toISOString().slice(0, 16)));
};

test('a location does not open for hours that lie entirely within the time that the clocks skip', () => {
  expect(openings('Europe/Copenhagen', '02:15', '02:45', '2026-03-29')).toEqual([]);
  expect(openings('Australia/Lord_Howe', '02:05', '02:25', '2026-10-04')).toEqual([]);
});

test('hours that begin or end at a time that the clocks skip begin or end at the instant of the change', () => {
  expect(openings('Europe/Copenhagen', '02:30', '04:00', '2026-03-29')).toEqual([
    ['2026-03-29T01:00', '2026-03-29T02:00'],
  ]);
  expect(openings('America/New_York', '22:00', '02:30', '2026-03-07')).toEqual([
    ['2026-03-08T03:00', '2026-03-08T07:00'],
  ]);
});

test('if a time occurs twice, the location opens at the first occurrence and closes at the second', () => {
  expect(openings('Europe/Copenhagen', '02:30', '02:45', '2026-10-25')).toEqual([
    ['2026-10-25T00:30', '2026-10-25T01:45'],
  ]);
});

test('isOpenThroughout finds a single closed day in an interval of thousands of years', () => {
  const hours = [{ opens: '00:00', closes: '00:00' }];
  const weekly = Object.fromEntries(weekdays.map((day) => [day, hours]));
  const years = { start: Date.parse('0001-01-01T00:00:00Z'), end: Date.parse('9999-12-31T00:00:00Z') };
  expect(createSchedule({ weekly, exceptions: [] }, 'Europe/Copenhagen').isOpenThroughout(years)).toBe(true);
  const exceptions = [{ date: '5000-01-01', hours: [] }];
  expect(createSchedule({ weekly, exceptions }, 'Europe/Copenhagen').isOpenThroughout(years)).toBe(false);
});
