// Finds, creates, updates and deletes a booking, or reports why that is not possible.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { newResponse } from '@bay-booking/service/idempotency/once';
import type { IdempotencyStore } from '@bay-booking/service/idempotency/store';
import type { Caller, CallerRequest } from '../auth/caller.ts';
import { findLikelyFacilities, isUuid } from '../database/tagged-id.ts';
import { apiError } from '../errors.ts';
import { createWithKey } from '../idempotency/idempotency.ts';
import {
  type Booking,
  type BookingRequest,
  bookingPath,
  bookingResponse,
  checkIfMatch,
  errorContextOf,
} from './booking.ts';
import { type DraftServices, newBooking, validateDrafts, writeDrafts } from './drafts.ts';
import { type BookingStore, lockOne } from './storage/store.ts';

export interface WriteServices extends DraftServices {
  readonly now: () => Date;
  readonly link: MakeLink;
  readonly idempotency: IdempotencyStore;
}

export function createBooking(
  services: WriteServices,
  request: CallerRequest<unknown, BookingRequest['body']>,
): Promise<EndpointResponse> {
  const { store, idempotency, link } = services;
  const { body, caller } = request;
  const now = services.now();
  const context = errorContextOf(body);
  return createWithKey(request, { idempotency, now, context }, async (keyed, errors) => {
    const drafts = await validateDrafts(services, [{ body, errors }], { caller, now });
    const [booking] = drafts.map((draft) => newBooking(draft, now, null));
    if (!booking) throw new Error('a valid request has no booking');
    const { headers, ...created } = bookingResponse(201, booking, link);
    const response = { ...created, headers: { ...headers, Location: link('GET', bookingPath(booking)).href } };
    const stored = keyed && newResponse(keyed, response);
    await writeDrafts(store, drafts, { create: [booking], at: now, sender: request, response: stored });
    return response;
  });
}

export async function updateBooking(
  services: WriteServices,
  request: CallerRequest<unknown, BookingRequest['body']>,
): Promise<EndpointResponse> {
  const { store, link } = services;
  const { body, validationErrors: errors, caller } = request;
  const { id, at, check } = existingOf(services, request);
  const drafts = await validateDrafts(services, [{ id, body, errors }], {
    caller,
    now: at,
    bookingIds: [id],
    findCurrent: () => findBooking(store, id, caller),
  });
  const [booking] = await writeAtFacility(store, id, caller, (facilityId) =>
    writeDrafts(store, drafts, { lock: lockOne(facilityId, id), check, at, sender: request }),
  );
  return bookingResponse(200, booking as Booking, link);
}

export async function deleteBooking(
  services: Pick<WriteServices, 'store' | 'now'>,
  request: CallerRequest,
): Promise<EndpointResponse> {
  const { id, at, check } = existingOf(services, request);
  await writeAtFacility(services.store, id, request.caller, (facilityId) =>
    services.store.write({ delete: [id], lock: lockOne(facilityId, id), check, at, sender: request }),
  );
  return { status: 204 };
}

function existingOf({ now }: Pick<WriteServices, 'now'>, { params, header }: CallerRequest) {
  // The database returns ids in lower case.
  const id = (params.id ?? '').toLowerCase();
  const check = ([booking]: readonly Booking[]): boolean => {
    if (booking) checkIfMatch(header('if-match'), booking);
    return true;
  };
  return { id, at: now(), check };
}

/** @throws {ApiError} 404 if no facility of the token has this booking */
export async function findBooking(store: BookingStore, id: string, { facilities }: Caller): Promise<Booking> {
  if (isUuid(id)) {
    const likely = findLikelyFacilities(facilities, id);
    const found = likely.length > 0 ? await store.find(likely, id) : undefined;
    if (found) return found;
    // The second query includes the likely facilities again: the booking can have moved to one of them since the first
    // query.
    const moved = likely.length < facilities.length ? await store.find(facilities, id) : undefined;
    if (moved) return moved;
  }
  throw apiError('ERR00404');
}

/**
 * Calls `write` with the booking's facility, the likely one first. `write` returns undefined if the facility does not
 * have the booking, for example because another request has moved it.
 */
async function writeAtFacility<T>(
  store: BookingStore,
  id: string,
  caller: Caller,
  write: (facilityId: string) => Promise<T | undefined>,
): Promise<T> {
  const [likely] = isUuid(id) ? findLikelyFacilities(caller.facilities, id) : [];
  let facilityId = likely ?? (await findBooking(store, id, caller)).facilityId;
  for (;;) {
    const result = await write(facilityId);
    if (result !== undefined) return result;
    ({ facilityId } = await findBooking(store, id, caller));
  }
}
