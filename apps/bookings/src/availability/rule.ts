// Decides whether an interval of a bay can be booked. Availability, holds, and creating and updating bookings all use
// this rule (docs/decisions/0012-one-rule-for-free-bays.md).
//
// An interval can be booked if the bay is bookable, its location is open and no closure applies for the whole interval,
// and no booking and no live hold overlaps it. The first half of the rule is in this file. For the second half, a
// booking or hold is added under the lock of the bay, see bookings/storage/statements.ts.
import type { Schedule } from '../opening-hours/schedule.ts';
import { doOverlap, type Interval, subtract } from './interval.ts';

export interface Closure extends Interval {
  readonly reason: string | null;
}

/** What the owner of a bay has decided about it, apart from bookings and holds. */
export interface BayRules {
  readonly bookable: boolean;
  readonly schedule: Schedule;
  /** By start. */
  readonly closures: readonly Closure[];
}

/** The `moreInfo` of BOOK00003, or undefined if the rules permit the interval. */
export function findRefusal({ bookable, schedule, closures }: BayRules, interval: Interval): string | undefined {
  if (!bookable) return '';
  if (!schedule.isOpenThroughout(interval)) return 'closed';
  const closure = closures.find((other) => doOverlap(other, interval));
  if (!closure) return undefined;
  return closure.reason === null ? 'blocked' : `blocked: ${closure.reason}`;
}

/** The parts of `interval` that can be booked. `taken` are the bookings and live holds. */
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
