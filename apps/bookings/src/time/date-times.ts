// Checks the dates of a booking.
import { type Instant, parseInstant } from '@bay-booking/common/date-times';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Period } from './interval.ts';

/** A date is undefined if it is missing or invalid. */
export interface Dates {
  readonly start: Date | undefined;
  readonly end: Date | undefined;
  /** Whether the end is before the start, compared with all digits that were sent. */
  readonly isReversed: boolean;
}

export function parseDates({ startDate, endDate }: { [name in keyof Period]?: string | undefined }): Dates {
  const [start, end] = [startDate, endDate].map((text) => (text ? parseInstant(text) : undefined));
  return {
    start: start?.date,
    end: end?.date,
    isReversed: start !== undefined && end !== undefined && isBefore(end, start),
  };
}

function isBefore(a: Instant, b: Instant): boolean {
  const difference = a.date.getTime() - b.date.getTime();
  return difference === 0 ? a.moreDigits < b.moreDigits : difference < 0;
}

/** A search may have only one of the two dates. */
export function findReversedIntervalErrors({ isReversed }: Dates): readonly ValidationError[] {
  return isReversed ? [{ field: 'endDate', kind: 'invalid', hint: 'must not be before startDate' }] : [];
}

/** `where` says which requests have the limit. */
export function findLengthErrors({ start, end }: Dates, maxDays: number, where = ''): readonly ValidationError[] {
  const lengthMs = start && end ? end.getTime() - start.getTime() : 0;
  const hint = `must be at most ${maxDays} days after startDate${where}`;
  return lengthMs > maxDays * 24 * 3_600_000 ? [{ field: 'endDate', kind: 'invalid', hint }] : [];
}

/** The end may equal the start. */
export function findDateErrors({ end, isReversed }: Dates, now: Date) {
  const codes: ('ERR00010' | 'ERR00011')[] = [];
  if (isReversed) codes.push('ERR00010');
  if (end && end < now) codes.push('ERR00011');
  return codes;
}
