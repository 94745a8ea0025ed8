// Converts opening hours to intervals of time, across changes to and from daylight saving time.
import { Temporal } from 'temporal-polyfill';
import { contains, doOverlap, type Interval, join } from '../time/interval.ts';
import { instantOf } from '../time/wall-clock.ts';
import { type Hours, type OpeningHours, type Weekday, weekdays } from './hours.ts';

export interface Schedule {
  /**
   * Returns the openings during `interval`, in order of time and joined where they touch. They are not cut at the start
   * and end of `interval`, and some can lie outside it.
   */
  openDuring(interval: Interval): readonly Interval[];
  /** Whether the location is open for the whole interval, which can be thousands of years long. */
  isOpenThroughout(interval: Interval): boolean;
}

/** The schedule of a location that has no opening hours. */
export const alwaysOpen: Schedule = {
  openDuring: (interval) => [interval],
  isOpenThroughout: () => true,
};

const day = 86_400_000;
const week = 7 * day;
const maxCachedDays = 800;

export function createSchedule(hours: OpeningHours, timeZone: string): Schedule {
  const openingsOn = createOpeningsFinder(hours, timeZone);
  const hasGapEveryWeek = !isGapless(hours.weekly);

  function openDuring({ start, end }: Interval): readonly Interval[] {
    const openings: Interval[] = [];
    const last = dateOf(end, timeZone);
    // The opening hours of a day can last into the next day, so the day before `start` counts too.
    let date = dateOf(start, timeZone).subtract({ days: 1 });
    for (; Temporal.PlainDate.compare(date, last) <= 0; date = date.add({ days: 1 }))
      openings.push(...openingsOn(date));
    return join(openings);
  }

  const isOpenDuring = (part: Interval): boolean => openDuring(part).some((opening) => contains(opening, part));

  /**
   * For weekly hours with a gap. Only an exception can fill the gap of a week, and a location has at most 400, so the
   * loop soon finds a week with a gap.
   */
  function isOpenWeekByWeek({ start, end }: Interval): boolean {
    let from = start;
    while (end - from > week) {
      if (!isOpenDuring({ start: from, end: from + week })) return false;
      from += week;
    }
    return isOpenDuring({ start: from, end });
  }

  /** For weekly hours without a gap, where only exceptions can close the location. */
  function isOpenAroundExceptions(interval: Interval): boolean {
    return hours.exceptions.every(({ date }) => {
      // Dates of a time zone differ from dates in UTC by up to 14 hours, and hours can last into the next day.
      const affected = { start: Date.parse(date) - day, end: Date.parse(date) + 3 * day };
      if (!doOverlap(affected, interval)) return true;
      return isOpenDuring({
        start: Math.max(affected.start, interval.start),
        end: Math.min(affected.end, interval.end),
      });
    });
  }

  return { openDuring, isOpenThroughout: hasGapEveryWeek ? isOpenWeekByWeek : isOpenAroundExceptions };
}

/** The cache saves most of the time of a request that creates a booking. */
function createOpeningsFinder(
  { weekly, exceptions }: OpeningHours,
  timeZone: string,
): (date: Temporal.PlainDate) => readonly Interval[] {
  const exceptionOn = new Map(exceptions.map(({ date, hours }) => [date, hours]));
  const cache = new Map<string, readonly Interval[]>();
  return (date) => {
    const key = date.toString();
    const cached = cache.get(key);
    if (cached) return cached;
    // `dayOfWeek` is a number from 1 (Monday) to 7 (Sunday).
    const weekday = weekdays[date.dayOfWeek - 1] as Weekday;
    const hours = exceptionOn.get(key) ?? weekly[weekday] ?? [];
    const openings = hours
      .map((range) => toInterval(date, range, timeZone))
      // The location does not open for hours that lie entirely in the hour that the clocks skip.
      .filter(({ start, end }) => start < end);
    if (cache.size >= maxCachedDays) cache.clear();
    cache.set(key, openings);
    return openings;
  };
}

/** Whether the weekly hours cover the week in UTC. In other zones, changes of the clocks add no gap (`instantOf`). */
function isGapless(weekly: OpeningHours['weekly']): boolean {
  const openingsOn = createOpeningsFinder({ weekly, exceptions: [] }, 'UTC');
  const monday = Temporal.PlainDate.from('2024-01-01');
  const threeWeeks = Array.from({ length: 21 }, (_, days) => monday.add({ days }));
  const openings = threeWeeks.flatMap(openingsOn);
  // Not the first week, because `openings` lacks hours that begin before it.
  const secondWeek = { start: Date.UTC(2024, 0, 8), end: Date.UTC(2024, 0, 15) };
  return join(openings).some((opening) => contains(opening, secondWeek));
}

function toInterval(date: Temporal.PlainDate, { opens, closes }: Hours, timeZone: string): Interval {
  const closingDate = closes <= opens ? date.add({ days: 1 }) : date;
  return {
    start: instantOf(date.toPlainDateTime(opens), timeZone, 'earlier'),
    end: instantOf(closingDate.toPlainDateTime(closes), timeZone, 'later'),
  };
}

function dateOf(instant: number, timeZone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).toPlainDate();
}
