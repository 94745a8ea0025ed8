// Finds, updates and deletes a booking, or reports why that is not possible.
import type { Caller, CallerRequest } from '../auth/caller.ts';
import { findLikelyFacilities, isUuid } from '../database/tagged-id.ts';
import { apiError } from '../errors.ts';
import { type Booking, type BookingRequest, bookingResponse, checkIfMatch } from './booking.ts';
import { validateDrafts, type WriteServices, writeDrafts } from './drafts.ts';
import { type BookingStore, lockOne } from './storage/store.ts';

export async function updateBooking(services: WriteServices, request: CallerRequest<unknown, BookingRequest['body']>) {
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

export async function deleteBooking(services: WriteServices, request: CallerRequest) {
  const { id, at, check } = existingOf(services, request);
  await writeAtFacility(services.store, id, request.caller, (facilityId) =>
    services.store.write({ delete: [id], lock: lockOne(facilityId, id), check, at, sender: request }),
  );
  return { status: 204 };
}

function existingOf({ now }: WriteServices, { params, header }: CallerRequest) {
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
