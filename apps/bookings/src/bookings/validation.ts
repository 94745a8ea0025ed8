// Validates a requested booking, and finds the reasons if the database does not accept the booking.
//
// A response reports all errors that can be found (docs/behaviour.md, "Validation"). The validation finds most of them.
// The statement that writes the booking checks other bookings and the state of the bay. If this statement writes
// nothing, a query finds the reasons.
import type { ApiError, Problem } from '@bay-booking/common/errors';
import type { ValidationError } from '@bay-booking/common/validation';
import { findRuleViolation } from '../availability/rule.ts';
import type { RulesStore } from '../availability/rules-store.ts';
import { badRequest, type ErrorCode, problemOf, problemsOf } from '../errors.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { isText } from '../http/text.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { findDateErrors, parseDates } from '../time/date-times.ts';
import type { Booking } from './booking.ts';
import { type BookingLimits, findLimitErrors } from './limits.ts';
import { type CreateField, pick } from './storage/columns.ts';
import type { BookingStore, ExceptedIds } from './storage/store.ts';

/** The services that the handlers need to create and update bookings. */
export interface WriteServices extends SharedServices {
  readonly store: BookingStore;
  readonly catalogue: Catalogue;
  readonly rules: RulesStore;
}

/** The valid fields of a request body, which can be incomplete. */
export type RequestBody<F extends CreateField> = { readonly [K in F]?: string };

/** The names of the fields that a request sets. The method `includes` can be called with the name of any field. */
type FieldList<F extends CreateField> = readonly F[] & Pick<readonly CreateField[], 'includes'>;

/** The `contextData` of an error. It is empty if the error is not about a booking. */
type ContextData = Readonly<Record<string, unknown>>;
/** The `contextData` of the errors of a booking. The id is "" if the booking has no external id. */
export type ErrorContext = { readonly externalBookingId: string };

export interface RequestedBooking<F extends CreateField> {
  /** The bay with its facility. Undefined if the facilities of the token do not have the bay. */
  readonly bay: { readonly facilityId: string; readonly bayId: string } | undefined;
  /** The times of the booking. Undefined if a date is missing or invalid, or if the end is before the start. */
  readonly interval: { readonly start: Date; readonly end: Date } | undefined;
  /** The fields as they are stored. Undefined if the request has a problem. */
  readonly fields: Pick<Booking, F> | undefined;
  /** Returns the problems of the request that were found without looking at other bookings. */
  readonly problems: (context: ContextData) => readonly Problem[];
}

export interface ValidationOptions {
  readonly catalogue: Catalogue;
  readonly facilities: readonly string[];
  readonly config: BookingLimits;
  readonly now: Date;
}

/**
 * Validates the fields of a request, and finds the facility of the bay. `fields` are the fields that the request sets.
 * `requestErrors` are the validation errors that were found before.
 *
 * Holds are validated here too. Their `fields` do not contain `userAlias`. A rule that applies to bookings but not to
 * holds can therefore check `fields.includes('userAlias')`.
 */
export async function validateBooking<F extends CreateField>(
  fields: FieldList<F>,
  body: RequestBody<F>,
  requestErrors: readonly ValidationError[],
  { catalogue, facilities, config, now }: ValidationOptions,
): Promise<RequestedBooking<F>> {
  // `body` has a generic type, of which TypeScript cannot read the fields. The wider type has all fields.
  const { bayId, startDate, endDate }: RequestBody<CreateField> = body;
  const { start, end } = parseDates({ startDate, endDate });
  const validationErrors = [...requestErrors, ...findLimitErrors({ start, end }, config, now)];
  // A string that `isText` rejects, such as one with a NUL character, is not the id of any bay and is not looked up.
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
        ? { ...pick<F>(fields, body), startDate: start.toISOString(), endDate: end.toISOString() }
        : undefined,
    problems: (context) => [...problemsOf(validationErrors, context), ...codes.map((code) => problemOf(code, context))],
  };
}

/** A reason why the database does not accept a booking: an error code with its `moreInfo`. */
export interface Conflict {
  readonly code: ErrorCode;
  readonly moreInfo: string;
}

export function bookingError(
  requested: Pick<RequestedBooking<CreateField>, 'problems'>,
  context: ContextData,
  conflicts: readonly Conflict[],
): ApiError {
  return badRequest([
    ...requested.problems(context),
    ...conflicts.map(({ code, moreInfo }) => ({ ...problemOf(code, context), moreInfo })),
  ]);
}

type BayAndInterval = Pick<RequestedBooking<CreateField>, 'bay' | 'interval'>;

/**
 * The version that `findRulesVersion` returns if the rules of the bay do not permit the interval. No stored rules have
 * this version, so a statement that requires this version of the rules writes nothing.
 */
export const noRulesVersion = -1;

/**
 * Returns the version of the cached rules of the bay. Returns `noRulesVersion` if they do not permit the interval, or
 * if the request has no valid bay or interval.
 */
export async function findRulesVersion({ bay, interval }: BayAndInterval, rules: RulesStore): Promise<number> {
  if (!bay || !interval) return noRulesVersion;
  const times = { start: interval.start.getTime(), end: interval.end.getTime() };
  const found = await rules.find(bay, times);
  return found && findRuleViolation(found, times) === undefined ? found.version : noRulesVersion;
}

export interface ConflictSources {
  readonly store: Pick<BookingStore, 'findConflicts'>;
  readonly rules: RulesStore;
}

export interface ConflictOptions extends ExceptedIds {
  /** True for an update that keeps the bay and the times. Opening hours and closures are then not checked again. */
  readonly ignoresHoursAndClosures?: boolean;
}

/** Reads from the database why the bay cannot be booked. */
export async function findConflicts(
  { bay, interval }: BayAndInterval,
  { store, rules }: ConflictSources,
  { ignoresHoursAndClosures = false, ...excepted }: ConflictOptions = {},
): Promise<readonly Conflict[]> {
  if (!bay) return [];
  const found = await store.findConflicts(bay, interval, excepted);
  // The service never deletes a bay. An operator may have deleted it, while the catalogue still contains it.
  if (!found) return [{ code: 'ERR00012', moreInfo: '' }];
  const conflicts: Conflict[] = [];
  if (found.isOverlapping) conflicts.push({ code: 'BOOK00002', moreInfo: '' });
  else if (found.heldUntil !== null) conflicts.push({ code: 'BOOK00002', moreInfo: `held until ${found.heldUntil}` });
  if (!found.bookable) conflicts.push({ code: 'BOOK00003', moreInfo: '' });
  else if (interval && !ignoresHoursAndClosures) {
    const times = { start: interval.start.getTime(), end: interval.end.getTime() };
    const currentRules = await rules.read(bay, times.start);
    const violation = currentRules && findRuleViolation(currentRules, times);
    if (violation !== undefined) conflicts.push({ code: 'BOOK00003', moreInfo: violation });
  }
  return conflicts;
}
