// Handles POST /api/bookings: validates the request and creates the booking, or reports why it cannot be created.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { reservationError, validateReservation } from '../availability/reservation.ts';
import type { ApiRequest } from '../http/shared-services.ts';
import { createOnce, newResponse } from '../idempotency/idempotency.ts';
import { newTaggedId } from '../places/tagged-id.ts';
import { findHold } from './hold.ts';
import { type Booking, bookingPath, bookingResponse, errorContextOf, type NewBooking } from './resource.ts';
import type { BookingServices } from './services.ts';
import { type CreateField, createFields, pick } from './storage/columns.ts';

type CreateBody = { readonly [F in CreateField]?: NonNullable<Booking[F]> } & { readonly holdId?: string };

export function createBooking(
  services: BookingServices,
  request: ApiRequest<unknown, CreateBody>,
): Promise<EndpointResponse> {
  const { store, idempotency, link } = services;
  const { body, caller } = request;
  const now = services.now();
  const context = errorContextOf(body);
  return createOnce(request, { idempotency, now, context }, async (keyed, errors) => {
    const { hold, holdErrors } = await findHold(services.holds, body, caller);
    const reservation = await validateReservation(body, [...errors, ...holdErrors], caller, { ...services, now });
    const { valid, bay, times } = reservation;
    if (!valid) {
      // The response also reports the conflicts that can already be found. A client that names no bay of its facilities
      // must not learn which external ids exist.
      const options = { holdId: hold?.id, externalBookingId: body.externalBookingId };
      throw reservationError(reservation, bay ? await store.findConflicts(bay, times, options) : [], context);
    }
    const at = now.toISOString();
    const booking: NewBooking = {
      ...pick(createFields, { ...body, ...valid }),
      id: newTaggedId(valid.facilityId, now),
      facilityId: valid.facilityId,
      createdAt: at,
      lastUpdatedAt: at,
      version: 1,
    };
    const { headers, ...created } = bookingResponse(201, booking, link);
    const response = { ...created, headers: { ...headers, Location: link('GET', bookingPath(booking)).href } };
    const conflicts = await store.create({
      bookings: [booking],
      holdId: hold?.id,
      response: keyed && newResponse(keyed, response),
      sender: request,
    });
    if (conflicts.length > 0) throw reservationError(reservation, conflicts.flat(), context);
    return response;
  });
}
