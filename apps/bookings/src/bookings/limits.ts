// Limits how long a booking can last and how far in the future it can end (MAX_BOOKING_HOURS and MAX_DAYS_AHEAD;
// docs/behaviour.md, "Validation"). Without limits, a typing error in an endDate could block a bay for centuries.
import type { ValidationError } from '@bay-booking/common/validation';

/** The limits of bookings and holds. The value 0 switches a limit off. */
export interface BookingLimits {
  /** The maximum length of a booking, in hours. */
  readonly maxHours: number;
  /** The maximum time from now to the end of a booking, in days of 24 hours. */
  readonly maxDaysAhead: number;
}

export const noLimits: BookingLimits = { maxHours: 0, maxDaysAhead: 0 };

const hour = 3_600_000;

export function findLimitErrors(
  { start, end }: { readonly start: Date | undefined; readonly end: Date | undefined },
  { maxHours, maxDaysAhead }: BookingLimits,
  now: Date,
): readonly ValidationError[] {
  const hints: string[] = [];
  if (maxHours > 0 && start && end && end.getTime() - start.getTime() > maxHours * hour) {
    hints.push(`a booking must not be longer than ${maxHours} hours`);
  }
  if (maxDaysAhead > 0 && end && end.getTime() - now.getTime() > maxDaysAhead * 24 * hour) {
    hints.push(`a booking must not end later than ${maxDaysAhead} days from now`);
  }
  return hints.map((hint) => ({ field: 'endDate', kind: 'invalid', hint }));
}
