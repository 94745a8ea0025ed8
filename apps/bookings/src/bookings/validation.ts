// Validates a requested booking, and explains why the database refused it.
//
// A response reports all errors that can be found (docs/behaviour.md, "Validation"). Most of them are found here. Only
// the statement that writes the booking checks other bookings and the state of the bay. If it writes nothing, a query
// finds the reasons.
import type { ApiError, Problem } from '@bay-booking/common/errors';
import type { ValidationError } from '@bay-booking/common/validation';
import { badRequest, type ErrorCode, problemOf, problemsOf } from '../errors.ts';
import { isText } from '../http/text.ts';
import type { Catalogue } from '../places/catalogue.ts';
import type { Booking } from './booking.ts';
import { findDateErrors, parseDateTime } from './date-times.ts';
import { type CreateField, pick } from './storage/columns.ts';
import type { BookingStore } from './storage/store.ts';

/** The valid fields of a request body, which can be incomplete. */
export type RequestBody<F extends CreateField> = { readonly [K in F]?: string };

/** `contextData` of the errors of a booking. The id is "" if the booking has none. */
export type ErrorContext = { readonly externalBookingId: string };

export interface RequestedBooking<F extends CreateField> {
  readonly bay: { readonly facilityId: string; readonly bayId: string } | undefined;
  readonly interval: { readonly start: Date; readonly end: Date } | undefined;
  /** The fields as they are stored; undefined if there is a problem. */
  readonly fields: Pick<Booking, F> | undefined;
  /** The problems that were found without looking at other bookings. */
  readonly problems: (context: ErrorContext) => readonly Problem[];
}

export interface ValidationOptions {
  readonly catalogue: Catalogue;
  readonly facilities: readonly string[];
  readonly now: Date;
}

/** `validationErrors` are those that the router found. `fields` are the fields that the request sets. */
export async function validateBooking<F extends CreateField>(
  fields: readonly F[],
  body: RequestBody<F>,
  validationErrors: readonly ValidationError[],
  { catalogue, facilities, now }: ValidationOptions,
): Promise<RequestedBooking<F>> {
  const { bayId, startDate, endDate }: RequestBody<CreateField> = body;
  const start = startDate === undefined ? undefined : parseDateTime(startDate);
  const end = endDate === undefined ? undefined : parseDateTime(endDate);
  const facilityId =
    bayId !== undefined && isText(bayId) ? await catalogue.findFacilityOfBay(facilities, bayId) : undefined;
  const codes: ErrorCode[] = [...findDateErrors(start, end, now)];
  if (bayId !== undefined && facilityId === undefined) codes.push('ERR00012');
  const isValid = validationErrors.length === 0 && codes.length === 0;
  return {
    bay: bayId !== undefined && facilityId !== undefined ? { facilityId, bayId } : undefined,
    interval: start && end && start <= end ? { start, end } : undefined,
    fields:
      isValid && start && end
        ? { ...pick(fields, body), startDate: start.toISOString(), endDate: end.toISOString() }
        : undefined,
    problems: (context) => [...problemsOf(validationErrors, context), ...codes.map((code) => problemOf(code, context))],
  };
}

/** The 400 response with the problems of the request and with `codes`. */
export function bookingError(
  requested: Pick<RequestedBooking<CreateField>, 'problems'>,
  context: ErrorContext,
  codes: Iterable<ErrorCode>,
): ApiError {
  return badRequest([...requested.problems(context), ...[...codes].map((code) => problemOf(code, context))]);
}

/** The error codes of the bay and its bookings. An update passes the id of its booking as `exceptId`. */
export async function findConflictCodes(
  { bay, interval }: Pick<RequestedBooking<CreateField>, 'bay' | 'interval'>,
  store: Pick<BookingStore, 'findConflicts'>,
  exceptId?: string,
): Promise<readonly ErrorCode[]> {
  if (!bay) return [];
  const conflicts = await store.findConflicts(bay, interval, exceptId);
  if (!conflicts) return ['ERR00012'];
  const codes: ErrorCode[] = [];
  if (conflicts.isOverlapping) codes.push('BOOK00002');
  if (!conflicts.bookable) codes.push('BOOK00003');
  return codes;
}
