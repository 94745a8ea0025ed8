// Validates the bookings that a request wants to create or change and reports every error of every booking.
import { isDeepStrictEqual } from 'node:util';
import type { ApiError, Problem } from '@bay-booking/common/errors';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { problemsOfReservation, type Reservation, validateReservation } from '../availability/reservation.ts';
import type { Conflict } from '../availability/rule.ts';
import { badRequest, problemsOf } from '../errors.ts';
import type { Hold } from '../holds/hold.ts';
import type { HoldStore } from '../holds/store.ts';
import { newTaggedId } from '../places/tagged-id.ts';
import { parseDates } from '../time/date-times.ts';
import { contains, intervalOf } from '../time/interval.ts';
import { type Booking, type BookingChange, metadataOf, type NewBooking } from './resource.ts';
import type { BookingServices } from './services.ts';
import { type CreateField, createFields, pick, updateFields } from './storage/columns.ts';

export type CreateBody = { readonly [F in CreateField]?: Booking[F] } & { readonly holdId?: string };

export interface DraftRequest {
  /** The id of the booking that the request changes. */
  readonly id?: string;
  /** The booking that the request changes. Undefined if the group does not have it. */
  readonly current?: Booking | undefined;
  /** The valid fields. */
  readonly body: CreateBody;
  readonly errors: readonly ValidationError[];
  /** The `contextData` of this booking's errors. */
  readonly context: Problem['contextData'];
}

interface CheckedDraft extends DraftRequest {
  readonly hold: Hold | undefined;
  readonly reservation: Reservation;
}

export interface Draft extends CheckedDraft {
  readonly valid: NonNullable<Reservation['valid']>;
}

export interface DraftOptions {
  readonly caller: Caller;
  readonly now: Date;
  /** Errors of the whole request. */
  readonly requestErrors?: readonly ValidationError[];
  /** Whether the request books nothing (storage/store.ts). */
  readonly dryRun?: boolean | undefined;
  /** The facility of the group that the bookings belong to. */
  readonly facilityId?: string;
  /** The bookings that the request changes or deletes. */
  readonly bookingIds?: readonly string[];
}

/** @throws {ApiError} 400 with every error that was found */
export async function validateDrafts(
  services: BookingServices,
  requests: readonly DraftRequest[],
  options: DraftOptions,
): Promise<readonly Draft[]> {
  const { caller, now, requestErrors = [] } = options;
  const checked: CheckedDraft[] = [];
  for (const request of requests) {
    const { body, errors } = request;
    const { hold, holdErrors } = await findHold(services.holds, body, caller);
    const reservation = await validateReservation(body, [...errors, ...holdErrors], caller, { ...services, now });
    checked.push({ ...request, hold, reservation });
  }
  const allErrors = [...requestErrors, ...findFacilityErrors(checked, options.facilityId)];
  const drafts = checked.flatMap((draft) => {
    const { valid } = draft.reservation;
    return valid ? [{ ...draft, valid }] : [];
  });
  if (allErrors.length === 0 && drafts.length === requests.length) return drafts;
  // The response also reports conflicts that can already be found.
  throw draftsError(checked, await findConflicts(services, checked, options), problemsOf(allErrors));
}

function findFacilityErrors(drafts: readonly CheckedDraft[], ofGroup?: string): readonly ValidationError[] {
  const facilities = new Set(
    [...drafts.flatMap(({ reservation: { bay } }) => bay?.facilityId ?? []), ofGroup ?? []].flat(),
  );
  return facilities.size > 1 ? [{ field: 'bookings', kind: 'invalid', hint: 'must be of one facility' }] : [];
}

async function findConflicts(
  { store }: BookingServices,
  drafts: readonly CheckedDraft[],
  { caller: { facilities }, dryRun, bookingIds }: DraftOptions,
): Promise<readonly (readonly Conflict[])[]> {
  const requestedBookings = drafts.map(({ id, current, body: { externalBookingId }, reservation: { bay, times } }) => ({
    bay,
    times,
    externalBookingId: id === undefined ? externalBookingId : undefined,
    current,
  }));
  if (!requestedBookings.some(({ bay, externalBookingId }) => bay || externalBookingId)) return [];
  // A client that can create no booking must not learn which external ids exist.
  const referencesOf = dryRun || facilities.length === 0 ? facilities : undefined;
  const conflicts = await store.findConflicts(requestedBookings, {
    bookingIds,
    holdIds: holdIdsOf(drafts),
    referencesOf,
  });
  return conflicts.map((ofDraft, index) => (isUnchanged(drafts[index] as CheckedDraft) ? [] : ofDraft));
}

/** `conflicts` has the conflicts of each draft. `problems` are those of the whole request. */
export function draftsError(
  drafts: readonly CheckedDraft[],
  conflicts: readonly (readonly Conflict[])[],
  problems: readonly Problem[] = [],
): ApiError {
  const ofDrafts = drafts.map(({ reservation, context }, index) =>
    problemsOfReservation(reservation, conflicts[index] ?? [], context),
  );
  return badRequest([...problems, ...ofDrafts.flat()]);
}

/** Each hold once, in order. */
export function holdIdsOf(drafts: readonly CheckedDraft[]): readonly string[] {
  return [...new Set(drafts.flatMap(({ hold }) => hold?.id ?? []))].sort();
}

export function newBooking({ body, valid }: Draft, now: Date, groupId: string | null): NewBooking {
  const at = now.toISOString();
  return {
    ...pick(createFields, { ...body, ...valid, metadata: metadataOf(body) }),
    id: newTaggedId(valid.facilityId, now),
    groupId,
    facilityId: valid.facilityId,
    createdAt: at,
    lastUpdatedAt: at,
    version: 1,
  };
}

/** The values that a draft with an id gives its booking. */
export function changeOfDraft({ body, reservation: { valid } }: CheckedDraft): BookingChange {
  return { ...pick(updateFields, { ...body, ...valid }), metadata: metadataOf(body) };
}

/** Whether the draft keeps its booking as it is. It is then not written and has no conflicts. */
export function isUnchanged(draft: CheckedDraft): boolean {
  const { current } = draft;
  if (!current || !draft.reservation.valid) return false;
  const change = changeOfDraft(draft);
  // A change whose metadata is undefined keeps the metadata.
  return updateFields.every((field) => change[field] === undefined || isDeepStrictEqual(current[field], change[field]));
}

interface HoldUse {
  readonly holdId?: string;
  readonly bayId?: string;
  readonly startDate?: string;
  readonly endDate?: string;
}

/** A missing hold is not an error: it can have expired, but the bay may still be free. */
export async function findHold(holds: HoldStore, body: HoldUse, caller: Caller) {
  const hold = body.holdId === undefined ? undefined : await holds.find(body.holdId, caller);
  return { hold, holdErrors: hold ? findErrors(hold, body) : [] };
}

function findErrors(hold: Hold, { bayId, startDate, endDate }: HoldUse): ValidationError[] {
  const invalid = (hint: string): ValidationError[] => [{ field: 'holdId', kind: 'invalid', hint }];
  if (bayId !== undefined && bayId !== hold.bayId) return invalid('the hold is for another bay');
  const { start, end, isReversed } = parseDates({ startDate, endDate });
  // The booking's validation reports missing and invalid times.
  if (!start || !end || isReversed) return [];
  return contains(intervalOf(hold), { start: start.getTime(), end: end.getTime() })
    ? []
    : invalid('the hold does not contain the interval of the booking');
}
