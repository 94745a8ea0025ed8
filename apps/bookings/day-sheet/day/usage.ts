// Calculates what the page about usage shows: the dates of a week or a month, and sums.
import { Temporal } from 'temporal-polyfill';

export type UsageUnit = 'week' | 'month';

/** Dates, `YYYY-MM-DD`. The last one is excluded. */
export interface UsageDates {
  readonly from: string;
  readonly to: string;
}

/** Returns the week, which begins on Monday, or the month of a date, or the one that is `offset` later. */
export function usageDates(unit: UsageUnit, date: string, offset = 0): UsageDates {
  const day = Temporal.PlainDate.from(date);
  const first = unit === 'week' ? day.subtract({ days: day.dayOfWeek - 1 }) : day.with({ day: 1 });
  const [from, to] = [offset, offset + 1].map((count) => first.add({ [`${unit}s`]: count }).toString());
  return { from: from as string, to: to as string };
}

export interface UsageSum {
  readonly bookings: number;
  readonly bookedMinutes: number;
  readonly openMinutes: number | null;
  /** From 0 to 1. Null if the location is closed all the time. */
  readonly occupancy: number | null;
  readonly cancelled: number;
  readonly noShows: number;
}

export function sumUsage(items: readonly UsageSum[]): UsageSum {
  const sumOf = (numberOf: (item: UsageSum) => number | null) =>
    items.reduce((sum, item) => sum + (numberOf(item) ?? 0), 0);
  const openMinutes = sumOf((item) => item.openMinutes);
  // Minutes outside the opening hours are booked, but do not count for the occupancy.
  const occupiedMinutes = sumOf(({ occupancy, openMinutes: open }) => (occupancy ?? 0) * (open ?? 0));
  return {
    bookings: sumOf(({ bookings }) => bookings),
    bookedMinutes: sumOf(({ bookedMinutes }) => bookedMinutes),
    openMinutes,
    occupancy: openMinutes === 0 ? null : occupiedMinutes / openMinutes,
    cancelled: sumOf(({ cancelled }) => cancelled),
    noShows: sumOf(({ noShows }) => noShows),
  };
}
