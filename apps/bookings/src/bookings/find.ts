// Finds a booking by its id, if the booking is at a facility of the caller.
import type { Caller } from '../auth/caller.ts';
import { apiError } from '../errors.ts';
import { type FindLikelyFacilities, isUuid } from '../places/tagged-id.ts';
import type { Booking } from './booking.ts';
import type { BookingStore } from './storage/store.ts';

export interface FinderServices {
  readonly store: Pick<BookingStore, 'find'>;
  readonly findLikelyFacilities: FindLikelyFacilities;
}

export function createBookingFinder({ store, findLikelyFacilities }: FinderServices) {
  /** @throws {ApiError} 404 if no facility that the token names has this booking */
  async function find(id: string, { facilities }: Caller): Promise<Booking> {
    if (isUuid(id)) {
      const likely = findLikelyFacilities(facilities, id);
      const found = likely.length > 0 ? await store.find(likely, id) : undefined;
      if (found) return found;
      // The second query includes the likely facilities again, because the booking can have moved to one of them since
      // the first query.
      const moved = likely.length < facilities.length ? await store.find(facilities, id) : undefined;
      if (moved) return moved;
    }
    // Every error of a request for a booking has the context `externalBookingId`. It is empty here, because no booking
    // was found.
    throw apiError('ERR00404', { context: { externalBookingId: '' } });
  }

  /**
   * Calls `write` with the facility of the booking, first with the likely one. `write` returns undefined if the
   * facility does not have the booking, for example because another request has moved it meanwhile.
   */
  async function writeAtFacility<T>(
    id: string,
    caller: Caller,
    write: (facilityId: string) => Promise<T | undefined>,
  ): Promise<T> {
    const [likely] = isUuid(id) ? findLikelyFacilities(caller.facilities, id) : [];
    let facilityId = likely ?? (await find(id, caller)).facilityId;
    for (;;) {
      const result = await write(facilityId);
      if (result !== undefined) return result;
      ({ facilityId } = await find(id, caller));
    }
  }

  return { find, writeAtFacility };
}
