// Defines when an interval of a bay can be booked. Availability, holds and bookings use this rule
// (docs/decisions.md).
import type { ErrorCode } from '../errors.ts';
import type { Schedule } from '../opening-hours/schedule.ts';
import { doOverlap, type Interval, subtract } from '../time/interval.ts';

/** Everything that decides whether a bay can be booked. Times are in milliseconds since 1970. */
export interface BayState {
  readonly bookable: boolean;
  readonly schedule: Schedule;
  /** Sorted by start, if a conflict must name the first one. */
  readonly closures: readonly (Interval & { readonly reason: string | null })[];
  readonly bookings: readonly Interval[];
  /** The holds that have not expired. `expiresAt` is in the format of responses. */
  readonly holds: readonly (Interval & { readonly expiresAt: string })[];
}

export interface Conflict {
  readonly code: ErrorCode;
  readonly moreInfo: string;
  /** `moreInfo` as fields, for `contextData`. */
  readonly context?: { readonly heldUntil: string } | { readonly closure: string };
}

/**
 * Returns every reason why the interval cannot be booked. `bay` is undefined if the bay does not exist. If `interval`
 * is undefined, only the bay is checked. An update that keeps the bay and the times ignores hours and closures.
 */
export function findConflicts(
  bay: BayState | undefined,
  interval: Interval | undefined,
  { ignoresHoursAndClosures = false }: { readonly ignoresHoursAndClosures?: boolean | undefined } = {},
): readonly Conflict[] {
  // The catalogue can contain a bay that an operator has deleted.
  if (!bay) return [{ code: 'ERR00012', moreInfo: '' }];
  const conflicts = interval ? findTakenTime(bay, interval) : [];
  if (!bay.bookable) return [...conflicts, { code: 'BOOK00003', moreInfo: '' }];
  return interval && !ignoresHoursAndClosures ? [...conflicts, ...findClosedTime(bay, interval)] : conflicts;
}

function findTakenTime({ bookings, holds }: BayState, interval: Interval): readonly Conflict[] {
  if (bookings.some((other) => doOverlap(other, interval))) return [{ code: 'BOOK00002', moreInfo: '' }];
  const expiries = holds.filter((other) => doOverlap(other, interval)).map(({ expiresAt }) => expiresAt);
  const latest = expiries.toSorted().at(-1);
  if (latest === undefined) return [];
  return [{ code: 'BOOK00002', moreInfo: `held until ${latest}`, context: { heldUntil: latest } }];
}

function findClosedTime({ schedule, closures }: BayState, interval: Interval): readonly Conflict[] {
  const closed = (closure: string, moreInfo: string): readonly Conflict[] => [
    { code: 'BOOK00003', moreInfo, context: { closure } },
  ];
  if (!schedule.isOpenThroughout(interval)) return closed('closed', 'closed');
  const closure = closures.find((other) => doOverlap(other, interval));
  if (!closure) return [];
  return closure.reason === null ? closed('blocked', 'blocked') : closed(closure.reason, `blocked: ${closure.reason}`);
}

/** Returns the bookable parts of the interval in order of time. */
export function findGaps({ bookable, schedule, closures, bookings, holds }: BayState, interval: Interval): Interval[] {
  if (!bookable || interval.start >= interval.end) return [];
  const open = schedule
    .openDuring(interval)
    // An opening can begin before the interval, end after the interval, or lie outside it.
    .map(({ start, end }) => ({ start: Math.max(start, interval.start), end: Math.min(end, interval.end) }))
    .filter(({ start, end }) => start < end);
  return subtract(open, [...closures, ...bookings, ...holds]);
}
