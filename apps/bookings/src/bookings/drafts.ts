// Validates and writes the bookings that a request wants to create or change, all or none. Reports every error of every
// booking.
import { isDeepStrictEqual } from 'node:util';
import { parseDates } from '@bay-booking/common/date-times';
import type { ApiError, ApiProblem } from '@bay-booking/common/errors';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { problemsOfReservation, validateReservation } from '../availability/reservation.ts';
import type { Conflict } from '../availability/rule.ts';
import { newTaggedId } from '../database/tagged-id.ts';
import { badRequest, problemsOf } from '../errors.ts';
import type { Hold } from '../holds/hold.ts';
import type { HoldStore } from '../holds/store.ts';
import type { EndpointServices } from '../http/endpoint-parts.ts';
import type { Catalogue } from '../places/catalogue-store.ts';
import { contains, intervalOf } from '../time/interval.ts';
import {
  type Booking,
  type BookingRequest,
  type BookingUpdate,
  type Draft,
  errorContextOf,
  type NewBooking,
} from './booking.ts';
import { createFields, type Metadata, pick, updateFields } from './storage/columns.ts';
import type { BookingStore, Writes } from './storage/store.ts';

export interface WriteServices extends EndpointServices {
  readonly store: BookingStore;
  readonly holds: HoldStore;
  readonly catalogue: Catalogue;
}

interface DraftOptions {
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
  /** Reads the booking that the request changes. Only needed if the request has an error. */
  readonly findCurrent?: () => Promise<Booking>;
}

/** @throws {ApiError} 400 with every error that was found */
export async function validateDrafts(
  services: WriteServices,
  requests: readonly BookingRequest[],
  options: DraftOptions,
): Promise<readonly Draft[]> {
  const { caller, now, requestErrors = [], findCurrent } = options;
  const drafts: Draft[] = [];
  for (const request of requests) {
    const { body, errors } = request;
    const hold = body.holdId === undefined ? undefined : await services.holds.find(body.holdId, caller);
    // A missing hold is not an error: it can have expired, but the bay may still be free.
    const holdErrors = hold ? findHoldErrors(hold, body) : [];
    const reservation = await validateReservation(body, [...errors, ...holdErrors], caller, { ...services, now });
    drafts.push({ ...request, ...reservation, hold });
  }
  const allErrors = [...requestErrors, ...findFacilityErrors(drafts, options.facilityId)];
  if (allErrors.length === 0 && drafts.every(({ valid }) => valid)) return drafts;
  const current = await findCurrent?.();
  const reported = current ? drafts.map((draft) => ({ ...draft, current })) : drafts;
  // The response also reports conflicts that can already be found.
  throw draftsError(reported, await findConflicts(services.store, reported, options), problemsOf(allErrors));
}

function findFacilityErrors(drafts: readonly Draft[], ofGroup?: string): readonly ValidationError[] {
  const facilities = new Set([...drafts.flatMap(({ bay }) => bay?.facilityId ?? []), ofGroup ?? []].flat());
  return facilities.size > 1 ? [{ field: 'bookings', kind: 'invalid', hint: 'must be of one facility' }] : [];
}

function findHoldErrors(hold: Hold, { bayId, startDate, endDate }: BookingRequest['body']): ValidationError[] {
  const invalid = (hint: string): ValidationError[] => [{ field: 'holdId', kind: 'invalid', hint }];
  if (bayId !== undefined && bayId !== hold.bayId) return invalid('the hold is for another bay');
  const { start, end, isReversed } = parseDates({ startDate, endDate });
  // The booking's validation reports missing and invalid times.
  if (!start || !end || isReversed) return [];
  return contains(intervalOf(hold), { start: start.getTime(), end: end.getTime() })
    ? []
    : invalid('the hold does not contain the interval of the booking');
}

async function findConflicts(
  store: BookingStore,
  drafts: readonly Draft[],
  { caller: { facilities }, dryRun, bookingIds }: DraftOptions,
): Promise<readonly (readonly Conflict[])[]> {
  if (!drafts.some(({ id, bay, body }) => bay || (id === undefined && body.externalBookingId))) return [];
  // A client that can create no booking must not learn which external ids exist.
  const referencesOf = dryRun || facilities.length === 0 ? facilities : undefined;
  const conflicts = await store.findConflicts(drafts, { bookingIds, holdIds: holdIdsOf(drafts), referencesOf });
  return drafts.map((draft, index) => (isUnchanged(draft) ? [] : (conflicts[index] ?? [])));
}

/** `conflicts` has the conflicts of each draft. `problems` are those of the whole request. */
function draftsError(
  drafts: readonly Draft[],
  conflicts: readonly (readonly Conflict[])[],
  problems: readonly ApiProblem[] = [],
): ApiError {
  const ofDrafts = drafts.map((draft, position) => {
    const { current, body, index } = draft;
    const context = { ...errorContextOf(current ?? body), ...(index !== undefined && { index }) };
    return problemsOfReservation(draft, conflicts[position] ?? [], context);
  });
  return badRequest([...problems, ...ofDrafts.flat()]);
}

/**
 * Writes valid drafts and deletes bookings. `create` has the new bookings of the drafts, in order.
 *
 * @returns the created bookings, then the updated ones; undefined in the cases of the store's `write`
 * @throws {ApiError} 400 with every conflict of every draft
 */
export async function writeDrafts(
  store: BookingStore,
  drafts: readonly Draft[],
  writes: Omit<Writes, 'facilityOfBays' | 'update' | 'holdIds'>,
): Promise<readonly Booking[] | undefined> {
  const created = drafts.filter(({ id }) => id === undefined);
  const updated = drafts.filter((draft) => draft.id !== undefined && !isUnchanged(draft));
  const written = [...created, ...updated];
  const outcome = await store.write({
    ...writes,
    facilityOfBays: written[0]?.bay?.facilityId,
    update: updated.map(updateOf),
    holdIds: holdIdsOf(written),
  });
  if (!outcome?.conflicts.length) return outcome?.bookings;
  const { bookings, conflicts } = outcome;
  const current = [...created.map(() => undefined), ...bookings];
  throw draftsError(
    written.map((draft, index) => ({ ...draft, current: current[index] ?? draft.current })),
    conflicts,
  );
}

/** Each hold once, in order. */
function holdIdsOf(drafts: readonly Draft[]): readonly string[] {
  return [...new Set(drafts.flatMap(({ hold }) => hold?.id ?? []))].sort();
}

export function newBooking({ body, valid }: Draft, now: Date, groupId: string | null): NewBooking {
  if (!valid) throw new Error('an invalid draft cannot be booked');
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

function updateOf({ id = '', body, valid }: Draft): BookingUpdate {
  return { ...pick(updateFields, { ...body, ...valid }), id, metadata: metadataOf(body) };
}

/** Returns null if the metadata is empty, undefined if the request has no metadata. */
function metadataOf({ metadata }: BookingRequest['body']): Metadata | null | undefined {
  return metadata && Object.keys(metadata).length === 0 ? null : metadata;
}

/** Whether the draft keeps its booking as it is. It is then not written and has no conflicts. */
function isUnchanged(draft: Draft): boolean {
  const { current, valid } = draft;
  if (!current || !valid) return false;
  const update = updateOf(draft);
  // An update whose metadata is undefined keeps the metadata.
  return updateFields.every((field) => update[field] === undefined || isDeepStrictEqual(current[field], update[field]));
}
