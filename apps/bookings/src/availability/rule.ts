// Decides whether an interval of a bay can be booked. Availability, holds, and creating and updating bookings all use
// this rule (docs/decisions/0012-one-rule-for-free-bays.md).
//
// An interval can be booked under two conditions. First, the bay is bookable, its location is open during the whole
// interval, and no closure overlaps the interval. Second, no booking and no live hold overlaps the interval. This file
// checks the first condition. The statements that add a booking or a hold check the second condition after they have
// locked the bay (bookings/storage/statements.ts).
import type { Schedule } from '../opening-hours/schedule.ts';
import { doOverlap, type Interval, subtract } from './interval.ts';

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

/** Returns the `moreInfo` of BOOK00003 if the rules do not permit the interval, or else undefined. */
export function findRuleViolation({ bookable, schedule, closures }: BayRules, interval: Interval): string | undefined {
  if (!bookable) return '';
  if (!schedule.isOpenThroughout(interval)) return 'closed';
  const closure = closures.find((other) => doOverlap(other, interval));
  if (!closure) return undefined;
  return closure.reason === null ? 'blocked' : `blocked: ${closure.reason}`;
}

/** Returns the parts of `interval` that can be booked. `taken` are the times of bookings and live holds. */
export function findGaps(
  { bookable, schedule, closures }: BayRules,
  taken: readonly Interval[],
  interval: Interval,
): Interval[] {
  if (!bookable || interval.start >= interval.end) return [];
  const unavailable = [...closures, ...taken];
  return schedule.openDuring(interval).flatMap(({ start, end }) => {
    const open = { start: Math.max(start, interval.start), end: Math.min(end, interval.end) };
    return open.start < open.end ? subtract(open, unavailable) : [];
  });
}
