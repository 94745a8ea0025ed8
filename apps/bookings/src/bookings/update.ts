// Handles PUT /api/bookings/{id}: validates the request and updates the booking, or reports why it cannot be updated.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { type Reservation, reservationError, validateReservation } from '../availability/reservation.ts';
import type { Author } from '../changes/log.ts';
import { tagsToMatch } from '../http/etag.ts';
import type { SharedServices } from '../http/shared-services.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { type Booking, type BookingChange, checkIfMatch } from './booking.ts';
import { createBookingFinder, type FinderServices } from './find.ts';
import { bookingResponse } from './resource.ts';
import { pick, type UpdateField, updateFields } from './storage/columns.ts';
import { type BookingStore, exceptionsOf, type UpdateOutcome } from './storage/store.ts';

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
  const find = createBookingFinder(services);

  return async (request: UpdateRequest): Promise<EndpointResponse> => {
    const { caller, body, validationErrors } = request;
    const now = services.now();
    const options = { catalogue, facilities: caller.facilities, config, now };
    const reservation = await validateReservation(body, validationErrors, options);
    const { valid } = reservation;
    if (!valid) throw await errorOf(reservation, await find(request.id, caller));
    const change = pick(updateFields, { ...body, ...valid });
    const { booking, conflicts } = await update(request, change, valid.facilityId, now);
    if (conflicts.length === 0) return bookingResponse(200, booking, link);
    throw reservationError(reservation, contextOf(booking), conflicts);
  };

  async function update(
    request: UpdateRequest,
    change: BookingChange,
    facilityOfBay: string,
    at: Date,
  ): Promise<UpdateOutcome> {
    const { id, caller, author, ifMatch } = request;
    const etags = tagsToMatch(ifMatch);
    const { facilityId } = await find(id, caller);
    const check = (booking: Booking) => checkIfMatch(etags, booking);
    const outcome = await store.update({ facilityId, id, change, facilityOfBay, at, author, check });
    // Without the booking, another request has deleted it, or moved it to another facility.
    return outcome ?? update(request, change, facilityOfBay, at);
  }

  /** The response to an invalid request also reports the conflicts that can already be found. */
  async function errorOf(reservation: Reservation, booking: Booking) {
    const { bay, times } = reservation;
    const exceptions = exceptionsOf(booking, { ...bay, ...times });
    const conflicts = bay ? await store.findConflicts(bay, times, exceptions) : [];
    return reservationError(reservation, contextOf(booking), conflicts);
  }
}

/** The `contextData` of the errors of a booking. */
function contextOf({ externalBookingId }: Booking) {
  return { externalBookingId: externalBookingId ?? '' };
}
