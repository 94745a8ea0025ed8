// Converts opening hours to intervals of time, across changes to and from daylight saving time.
import { Temporal } from 'temporal-polyfill';
import { contains, doOverlap, type Interval, join } from '../availability/interval.ts';
import { type Hours, type OpeningHours, weekdays } from './hours.ts';

export interface Schedule {
  /**
   * Returns the intervals during which the location is open. They cover at least `interval`, but can begin before it or
   * end after it. Intervals that touch or overlap are joined.
   */
  openDuring(interval: Interval): readonly Interval[];
  /** Whether the location is open for the whole interval, which can be thousands of years long. */
  isOpenThroughout(interval: Interval): boolean;
}

const day = 86_400_000;
const week = 7 * day;
/** The maximum number of days that a schedule caches: about two years. */
const maxCachedDays = 800;

export const alwaysOpen: Schedule = {
  openDuring: (interval) => [interval],
  isOpenThroughout: () => true,
};

export function createSchedule(hours: OpeningHours, timeZone: string): Schedule {
  const openingsOn = createOpenings(hours, timeZone);
  const hasGapEveryWeek = !isGapless(hours.weekly);

  function openDuring({ start, end }: Interval): readonly Interval[] {
    const openings: Interval[] = [];
    const last = dateOf(end, timeZone);
    // Hours can last into the next day, so the day before counts too.
    let date = dateOf(start, timeZone).subtract({ days: 1 });
    for (; Temporal.PlainDate.compare(date, last) <= 0; date = date.add({ days: 1 }))
      openings.push(...openingsOn(date));
    return join(openings);
  }

  function isOpenDuring(part: Interval): boolean {
    return openDuring(part).some((opening) => contains(opening, part));
  }

  /**
   * Used if the weekly hours have a gap, which only an exception can fill. There are at most 400 exceptions, so the
   * loop ends soon, even if the interval is thousands of years long.
   */
  function isOpenWeekByWeek({ start, end }: Interval): boolean {
    let from = start;
    while (end - from > week) {
      if (!isOpenDuring({ start: from, end: from + week })) return false;
      from += week;
    }
    return isOpenDuring({ start: from, end });
  }

  /** Used if the weekly hours have no gap. Only exceptions can then close the location, so their days are checked. */
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
 * Returns the function that converts the hours that begin on a date to intervals. The function caches its results,
 * because the conversion would take most of the time of a request that creates a booking.
 */
function createOpenings({ weekly, exceptions }: OpeningHours, timeZone: string) {
  const exceptionOn = new Map(exceptions.map(({ date, hours }) => [date, hours]));
  const cache = new Map<string, readonly Interval[]>();
  return (date: Temporal.PlainDate): readonly Interval[] => {
    const key = date.toString();
    const cached = cache.get(key);
    if (cached) return cached;
    const hours = exceptionOn.get(key) ?? weekly[weekdays[date.dayOfWeek - 1] ?? 'monday'] ?? [];
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
 * Whether the weekly hours cover the week without a gap. This is checked in UTC. Changes to and from daylight saving
 * time add no gap: if a time occurs twice, the location opens at the first and closes at the second occurrence.
 */
function isGapless(weekly: OpeningHours['weekly']): boolean {
  const openingsOn = createOpenings({ weekly, exceptions: [] }, 'UTC');
  const monday = Temporal.PlainDate.from('2024-01-01');
  const openings = Array.from({ length: 21 }, (_, days) => openingsOn(monday.add({ days }))).flat();
  // Every week has the same hours, so one week is enough. The second of three is checked, because hours that begin in
  // the first week can last into the second.
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

/**
 * Converts a local time to milliseconds since 1970. A time that the clocks skip is converted to the instant after the
 * skipped time. If a time occurs twice, `choice` selects one of both instants.
 */
function instantOf(local: Temporal.PlainDateTime, timeZone: string, choice: 'earlier' | 'later'): number {
  const zoned = local.toZonedDateTime(timeZone, { disambiguation: choice });
  if (zoned.toPlainDateTime().equals(local)) return zoned.epochMilliseconds;
  // The latest change of the clocks before an instant shortly after the skipped time is the end of the skipped time.
  const afterGap = local.toZonedDateTime(timeZone, { disambiguation: 'later' }).add({ milliseconds: 1 });
  return afterGap.getTimeZoneTransition('previous')?.epochMilliseconds ?? zoned.epochMilliseconds;
}

function dateOf(instant: number, timeZone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).toPlainDate();
}
