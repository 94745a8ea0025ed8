// Validates the bay and the times of a request for a booking or a hold, and finds the facility of the bay.
import type { ApiError } from '@bay-booking/common/errors';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import type { Config } from '../config.ts';
import { badRequest, type ErrorCode, problemOf, problemsOf } from '../errors.ts';
import { isText } from '../http/schemas.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { findDateErrors, parseDates } from '../time/date-times.ts';
import type { Conflict } from './rule.ts';

/** The valid fields of a request body, which can be incomplete. */
export interface ReservationBody {
  readonly bayId?: string;
  readonly startDate?: string;
  readonly endDate?: string;
}

export interface Bay {
  readonly facilityId: string;
  readonly bayId: string;
}

/** Times in the format of responses. */
export interface Times {
  readonly startDate: string;
  readonly endDate: string;
}

export interface Reservation {
  /** Undefined if the facilities of the token do not have the bay. */
  readonly bay: Bay | undefined;
  /** Undefined if a date is missing or invalid, or if the end is before the start. */
  readonly times: Times | undefined;
  /** Undefined if the request has an error. */
  readonly valid: (Bay & Times) | undefined;
  readonly validationErrors: readonly ValidationError[];
  readonly codes: readonly ErrorCode[];
}

interface ReservationServices {
  readonly catalogue: Catalogue;
  readonly config: BookingLimits;
  readonly now: Date;
}

/** `requestErrors` are the validation errors that were found before. */
export async function validateReservation(
  { bayId, startDate, endDate }: ReservationBody,
  requestErrors: readonly ValidationError[],
  { facilities }: Caller,
  { catalogue, config, now }: ReservationServices,
): Promise<Reservation> {
  const { start, end } = parseDates({ startDate, endDate });
  const validationErrors = [...requestErrors, ...findLimitErrors({ start, end }, config, now)];
  const bay = bayId === undefined ? undefined : await findBay(bayId, facilities, catalogue);
  const codes: ErrorCode[] = [...findDateErrors(start, end, now)];
  if (bayId !== undefined && !bay) codes.push('ERR00012');
  const times =
    start && end && start <= end ? { startDate: start.toISOString(), endDate: end.toISOString() } : undefined;
  const isValid = validationErrors.length === 0 && codes.length === 0;
  return { bay, times, valid: isValid && bay && times ? { ...bay, ...times } : undefined, validationErrors, codes };
}

async function findBay(bayId: string, facilities: readonly string[], catalogue: Catalogue): Promise<Bay | undefined> {
  // PostgreSQL cannot store some of the strings that `isText` rejects, so they are not looked up.
  if (!isText(bayId)) return undefined;
  const facilityId = (await catalogue.findFacilities('bays', facilities, [bayId])).get(bayId);
  return facilityId === undefined ? undefined : { facilityId, bayId };
}

/** Creates the error that reports all errors of a request together. `context` is the `contextData` of each error. */
export function reservationError(
  { validationErrors, codes }: Pick<Reservation, 'validationErrors' | 'codes'>,
  context: Readonly<Record<string, unknown>>,
  conflicts: readonly Conflict[],
): ApiError {
  return badRequest([
    ...problemsOf(validationErrors, context),
    ...codes.map((code) => problemOf(code, context)),
    ...conflicts.map(({ code, moreInfo }) => ({ ...problemOf(code, context), moreInfo })),
  ]);
}

/** The limits of bookings and holds, in hours and in days of 24 hours. The value 0 switches a limit off. */
type BookingLimits = Pick<Config, 'maxBookingHours' | 'maxDaysAhead'>;

const hourMs = 3_600_000;

function findLimitErrors(
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
