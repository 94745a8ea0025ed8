// Converts opening hours to intervals of time, across changes to and from daylight saving time.
import { LRUCache } from 'lru-cache';
import { Temporal } from 'temporal-polyfill';
import { contains, doOverlap, type Interval, join } from '../time/interval.ts';
import { type Hours, type OpeningHours, type Weekday, weekdays } from './hours.ts';

export interface Schedule {
  /**
   * Returns the intervals during which the location is open, in order of time. The list contains every moment of
   * `interval` at which the location is open. Openings are not cut at the start and end of `interval`, and the list can
   * contain openings of neighbouring days outside `interval`. Openings that touch or overlap are joined.
   */
  openDuring(interval: Interval): readonly Interval[];
  /** Whether the location is open for the whole interval, which can be thousands of years long. */
  isOpenThroughout(interval: Interval): boolean;
}

const day = 86_400_000;
const week = 7 * day;
/** The maximum number of days that a schedule caches: about two years. */
const maxCachedDays = 800;

const alwaysOpen: Schedule = {
  openDuring: (interval) => [interval],
  isOpenThroughout: () => true,
};

const schedules = new LRUCache<string, Schedule>({ max: 2_000 });

/** Returns the schedule of a location. Null means that it is always open. */
export function findSchedule(hours: OpeningHours | null, timeZone: string): Schedule {
  if (!hours) return alwaysOpen;
  // A schedule caches the openings of each day, and most locations have the same hours as another one.
  const key = JSON.stringify([hours, timeZone]);
  const schedule = schedules.get(key) ?? createSchedule(hours, timeZone);
  schedules.set(key, schedule);
  return schedule;
}

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

  function isOpenDuring(part: Interval): boolean {
    return openDuring(part).some((opening) => contains(opening, part));
  }

  /**
   * Whether the location is open during the whole interval. Used if the weekly hours have a gap. Only an exception can
   * then fill the gap of a week. A location has at most 400 exceptions, so the loop soon finds a week with a gap, even
   * if the interval is thousands of years long.
   */
  function isOpenWeekByWeek({ start, end }: Interval): boolean {
    let from = start;
    while (end - from > week) {
      if (!isOpenDuring({ start: from, end: from + week })) return false;
      from += week;
    }
    return isOpenDuring({ start: from, end });
  }

  /**
   * Whether the location is open during the whole interval. Used if the weekly hours have no gap: only exceptions can
   * then close the location, so only the days of exceptions are checked.
   */
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

/**
 * Returns a function that finds the opening hours of a date and converts them to intervals. The function caches its
 * results, because the conversion would take most of the time of a request that creates a booking.
 */
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

/**
 * Whether the weekly hours cover the week without a gap. The check uses UTC, where the clocks never change. In other
 * time zones, the changes to and from daylight saving time add no gap. If the clocks skip a time, opening and closing
 * at this time both mean the instant after the skipped time. If a time occurs twice, the location opens at the first
 * and closes at the second occurrence.
 */
function isGapless(weekly: OpeningHours['weekly']): boolean {
  const openingsOn = createOpeningsFinder({ weekly, exceptions: [] }, 'UTC');
  const monday = Temporal.PlainDate.from('2024-01-01');
  const threeWeeks = Array.from({ length: 21 }, (_, days) => monday.add({ days }));
  const openings = threeWeeks.flatMap(openingsOn);
  // Every week has the same hours, so only one week is checked. It is not the first week, because `openings` lacks
  // hours that begin before the first week and end in it.
  const secondWeek = { start: Date.UTC(2024, 0, 8), end: Date.UTC(2024, 0, 15) };
  return join(openings).some((opening) => contains(opening, secondWeek));
}

/** Equal times mean that the location is open for 24 hours. */
function toInterval(date: Temporal.PlainDate, { opens, closes }: Hours, timeZone: string): Interval {
  const closingDate = closes <= opens ? date.add({ days: 1 }) : date;
  return {
    start: instantOf(date.toPlainDateTime(opens), timeZone, 'earlier'),
    end: instantOf(closingDate.toPlainDateTime(closes), timeZone, 'later'),
  };
}

/**
 * Converts a local time to milliseconds since 1970. A time that the clocks skip is converted to the instant after the
 * skipped time. If a time occurs twice, `choice` selects one of both instants.
 */
function instantOf(local: Temporal.PlainDateTime, timeZone: string, choice: 'earlier' | 'later'): number {
  const zoned = local.toZonedDateTime(timeZone, { disambiguation: choice });
  if (zoned.toPlainDateTime().equals(local)) return zoned.epochMilliseconds;
  // The local time is skipped, so the result is the instant at which the clocks change. With `later`, the first skipped
  // time is converted to this instant, and every other skipped time to a later instant. 1 ms is added, because
  // `getTimeZoneTransition('previous')` finds only changes before the given instant.
  const afterChange = local.toZonedDateTime(timeZone, { disambiguation: 'later' }).add({ milliseconds: 1 });
  // The clocks of this time zone do change, so a change is always found. `??` is only for the type checker.
  return afterChange.getTimeZoneTransition('previous')?.epochMilliseconds ?? zoned.epochMilliseconds;
}

function dateOf(instant: number, timeZone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).toPlainDate();
}
