// What is wrong with a booking that a client wants? All problems that can be found are reported together, one entry
// each (contract section 7); the database has the last word, and what it refuses is explained here.
import type { ApiError, Problem } from '@bay-booking/common/errors';
import type { ValidationError } from '@bay-booking/common/validation';
import { badRequest, type ErrorCode, problemOf, problemsOf } from '../errors.ts';
import type { BayPlace, Catalogue } from '../places/catalogue.ts';
import type { BookingChange } from './booking.ts';
import { parseDateTime, timeFaults } from './date-times.ts';
import type { BookingStore } from './storage/store.ts';

/** The fields of a body that are valid. */
export interface WantedFields {
  readonly bayId?: string;
  readonly userAlias?: string;
  readonly startDate?: string;
  readonly endDate?: string;
}

export interface Wanted {
  readonly bayId: string | undefined;
  readonly place: BayPlace | undefined;
  readonly start: Date | undefined;
  readonly end: Date | undefined;
  /** The whole change, if nothing is at fault so far. */
  readonly change: (BookingChange & { readonly place: BayPlace }) | undefined;
  /** Found without asking the database about other bookings. */
  readonly problems: (context: Record<string, unknown>) => readonly Problem[];
}

export async function examine(
  { bayId, userAlias, startDate, endDate }: WantedFields,
  validationErrors: readonly ValidationError[],
  options: { readonly catalogue: Catalogue; readonly facilities: readonly string[]; readonly now: Date },
): Promise<Wanted> {
  const start = startDate === undefined ? undefined : parseDateTime(startDate);
  const end = endDate === undefined ? undefined : parseDateTime(endDate);
  const place = bayId === undefined ? undefined : await options.catalogue.findBay(options.facilities, bayId);
  const codes: ErrorCode[] = [...timeFaults(start, end, options.now)];
  if (bayId !== undefined && !place) codes.push('ERR00012');
  const whole = validationErrors.length === 0 && codes.length === 0 && place && bayId && userAlias && start && end;
  return {
    bayId,
    place,
    start,
    end,
    change: whole ? { bayId, userAlias, startDate: start.toISOString(), endDate: end.toISOString(), place } : undefined,
    problems: (context) => [...problemsOf(validationErrors, context), ...codes.map((code) => problemOf(code, context))],
  };
}

/** Each that fails is a change of somebody else's that came between. */
export const triesAtMost = 20;

/** Every fault: those that were found before the database was asked, and `codes`. */
export function refusal(wanted: Wanted, context: { externalBookingId: string }, codes: Iterable<ErrorCode>): ApiError {
  return badRequest([...wanted.problems(context), ...[...codes].map((code) => problemOf(code, context))]);
}

/** What other bookings and the bay's state have against it; `except` is the booking that is being updated. */
export async function obstacleCodes(
  { bayId, place, start, end }: Wanted,
  store: Pick<BookingStore, 'obstacles'>,
  except?: string,
): Promise<readonly ErrorCode[]> {
  if (!place || bayId === undefined) return [];
  const interval = start && end && start <= end ? { start, end } : undefined;
  const found = await store.obstacles(place.facilityId, bayId, interval, except);
  if (!found) return ['ERR00012'];
  return [...(found.taken ? (['BOOK00002'] as const) : []), ...(found.bookable ? [] : (['BOOK00003'] as const))];
}
