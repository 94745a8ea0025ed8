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

export type FindBooking = (id: string, caller: Caller) => Promise<Booking>;

/** @throws {ApiError} 404 if no facility that the token names has this booking */
export function createBookingFinder({ store, findLikelyFacilities }: FinderServices): FindBooking {
  return async (id, { facilities }) => {
    if (isUuid(id)) {
      // A booking id contains a tag of the facility where the booking was created. The search begins at the facilities
      // with this tag.
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
  };
}
