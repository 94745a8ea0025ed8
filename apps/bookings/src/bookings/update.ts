// Handles PUT /api/bookings/{id}: validates the request and updates the booking, or reports why it cannot be updated.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { type Reservation, reservationError, validateReservation } from '../availability/reservation.ts';
import type { Author } from '../changes/log.ts';
import { tagsToMatch } from '../http/etag.ts';
import type { SharedServices } from '../http/shared-services.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { type Booking, checkIfMatch } from './booking.ts';
import { createBookingFinder, type FinderServices } from './find.ts';
import { bookingResponse } from './resource.ts';
import { pick, type UpdateField, updateFields } from './storage/columns.ts';
import { type BookingStore, keepsBayAndTimes } from './storage/store.ts';

export interface UpdateServices extends FinderServices, SharedServices {
  readonly store: BookingStore;
  readonly catalogue: Catalogue;
}

export interface UpdateRequest {
  readonly id: string;
  readonly caller: Caller;
  readonly author: Author;
  readonly ifMatch: string | undefined;
  /** The valid fields of the body. */
  readonly body: { readonly [F in UpdateField]?: string };
  readonly validationErrors: readonly ValidationError[];
}

export function createBookingUpdater(services: UpdateServices) {
  const { store, catalogue, config, link } = services;
  const { find, writeAtFacility } = createBookingFinder(services);

  return async (request: UpdateRequest): Promise<EndpointResponse> => {
    const { id, caller, author, body, validationErrors } = request;
    const at = services.now();
    const etags = tagsToMatch(request.ifMatch);
    const options = { catalogue, facilities: caller.facilities, config, now: at };
    const reservation = await validateReservation(body, validationErrors, options);
    const { valid } = reservation;
    if (!valid) throw await errorOf(reservation, await find(id, caller));
    const change = pick(updateFields, { ...body, ...valid });
    const check = (booking: Booking) => checkIfMatch(etags, booking);
    const { booking, conflicts } = await writeAtFacility(id, caller, (facilityId) =>
      store.update({ facilityId, id, change, facilityOfBay: valid.facilityId, at, author, check }),
    );
    if (conflicts.length === 0) return bookingResponse(200, booking, link);
    throw reservationError(reservation, contextOf(booking), conflicts);
  };

  /** The response to an invalid request also reports the conflicts that can already be found. */
  async function errorOf(reservation: Reservation, booking: Booking) {
    const { bay, times } = reservation;
    const ignoresHoursAndClosures = keepsBayAndTimes(booking, { ...bay, ...times });
    const options = { bookingId: booking.id, ignoresHoursAndClosures };
    const conflicts = bay ? await store.findConflicts(bay, times, options) : [];
    return reservationError(reservation, contextOf(booking), conflicts);
  }
}

/** The `contextData` of the errors of a booking. */
function contextOf({ externalBookingId }: Booking) {
  return { externalBookingId: externalBookingId ?? '' };
}
