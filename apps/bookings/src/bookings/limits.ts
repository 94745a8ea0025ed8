// Limits how long a booking can last and how far in the future it can end (MAX_BOOKING_HOURS and MAX_DAYS_AHEAD;
// docs/behaviour.md, "Validation"). Without limits, a typing error in an endDate could block a bay for centuries.
import type { ValidationError } from '@bay-booking/common/validation';
import type { Config } from '../config.ts';

/** The limits of bookings and holds, in hours and in days of 24 hours. The value 0 switches a limit off. */
export type BookingLimits = Pick<Config, 'maxBookingHours' | 'maxDaysAhead'>;

const hourMs = 3_600_000;

export function findLimitErrors(
  { start, end }: { readonly start: Date | undefined; readonly end: Date | undefined },
  { maxBookingHours, maxDaysAhead }: BookingLimits,
  now: Date,
): readonly ValidationError[] {
  const hints: string[] = [];
  if (maxBookingHours > 0 && start && end && end.getTime() - start.getTime() > maxBookingHours * hourMs) {
    hints.push(`a booking must not be longer than ${maxBookingHours} hours`);
  }
  if (maxDaysAhead > 0 && end && end.getTime() - now.getTime() > maxDaysAhead * 24 * hourMs) {
    hints.push(`a booking must not end later than ${maxDaysAhead} days from now`);
  }
  return hints.map((hint) => ({ field: 'endDate', kind: 'invalid', hint }));
}
