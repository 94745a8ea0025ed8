// Finds a booking by its id, if the booking is at a facility of the caller.
import type { Caller } from '../auth/caller.ts';
import { apiError } from '../errors.ts';
import { findLikelyFacilities, isUuid } from '../places/tagged-id.ts';
import type { Booking } from './resource.ts';
import type { BookingStore } from './storage/store.ts';

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
export async function writeAtFacility<T>(
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
