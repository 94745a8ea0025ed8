// Defines when an interval of a bay can be booked. Availability, holds and bookings all use these conditions
// (docs/decisions/0012-one-rule-for-free-bays.md).
//
// Two conditions must be true:
// 1. The bay is bookable, its location is open during the whole interval, and no closure overlaps the interval.
// 2. No booking and no live hold overlaps the interval.
//
// `findGaps` applies both conditions. `findRuleViolation` checks only condition 1. The statements that add a booking or
// a hold check condition 2 after they have locked the bay (bookings/storage/statements.ts, holds/store.ts).
import type { Schedule } from '../opening-hours/schedule.ts';
import { doOverlap, type Interval, subtract } from '../time/interval.ts';

export interface Closure extends Interval {
  readonly reason: string | null;
}

/** The rules that the owner of a bay has set for it. Bookings and holds are not part of the rules. */
export interface BayRules {
  readonly bookable: boolean;
  readonly schedule: Schedule;
  /** Sorted by start. */
  readonly closures: readonly Closure[];
}

/**
 * Returns undefined if the rules permit the interval. Otherwise returns the text `moreInfo` of the error BOOK00003. The
 * text is empty if the bay is not bookable.
 */
export function findRuleViolation({ bookable, schedule, closures }: BayRules, interval: Interval): string | undefined {
  if (!bookable) return '';
  if (!schedule.isOpenThroughout(interval)) return 'closed';
  const closure = closures.find((other) => doOverlap(other, interval));
  if (!closure) return undefined;
  return closure.reason === null ? 'blocked' : `blocked: ${closure.reason}`;
}

/**
 * Returns the parts of `interval` that can be booked, in order of time. `taken` are the times of bookings, and of holds
 * that have not expired.
 */
export function findGaps(
  { bookable, schedule, closures }: BayRules,
  taken: readonly Interval[],
  interval: Interval,
): Interval[] {
  if (!bookable || interval.start >= interval.end) return [];
  const unavailable = [...closures, ...taken];
  return schedule.openDuring(interval).flatMap(({ start, end }) => {
    // An opening can begin before the interval, end after the interval, or lie outside it.
    const open = { start: Math.max(start, interval.start), end: Math.min(end, interval.end) };
    return open.start < open.end ? subtract(open, unavailable) : [];
  });
}
