// Handles PUT and DELETE /api/bookings/{id}: updates or deletes the booking, or reports why it cannot be updated.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { reservationError, validateReservation } from '../availability/reservation.ts';
import type { ApiRequest } from '../http/shared-services.ts';
import { findHold } from './drafts.ts';
import { findBooking, writeAtFacility } from './find.ts';
import { type Booking, bookingResponse, checkIfMatch, errorContextOf, metadataOf } from './resource.ts';
import type { BookingServices } from './services.ts';
import { pick, type UpdateField, updateFields } from './storage/columns.ts';
import { lockOne } from './storage/store.ts';

type UpdateBody = { readonly [F in UpdateField]?: Booking[F] } & { readonly holdId?: string };

export async function updateBooking(
  services: BookingServices,
  request: ApiRequest<unknown, UpdateBody>,
): Promise<EndpointResponse> {
  const { store } = services;
  const { body, caller } = request;
  const { id, at, check } = writeOf(services, request);
  const { hold, holdErrors } = await findHold(services.holds, body, caller);
  const holdIds = hold ? [hold.id] : [];
  const errors = [...request.validationErrors, ...holdErrors];
  const reservation = await validateReservation(body, errors, caller, { ...services, now: at });
  const { valid, bay, times } = reservation;
  if (!valid) {
    // The response also reports the conflicts that can already be found.
    const current = await findBooking(store, id, caller);
    const [conflicts = []] = bay
      ? await store.findConflicts([{ bay, times, current }], { bookingIds: [id], holdIds })
      : [];
    throw reservationError(reservation, conflicts, errorContextOf(current));
  }
  const change = { ...pick(updateFields, { ...body, ...valid }), metadata: metadataOf(body) };
  const { bookings, conflicts } = await writeAtFacility(store, id, caller, (facilityId) =>
    store.write({
      facilityOfBays: valid.facilityId,
      update: [{ id, change }],
      lock: lockOne(facilityId, id),
      check,
      holdIds,
      at,
      sender: request,
    }),
  );
  const booking = bookings[0] as Booking;
  if (conflicts.length > 0) throw reservationError(reservation, conflicts.flat(), errorContextOf(booking));
  return bookingResponse(200, booking, services.link);
}

export async function deleteBooking(services: BookingServices, request: ApiRequest): Promise<EndpointResponse> {
  const { id, at, check } = writeOf(services, request);
  await writeAtFacility(services.store, id, request.caller, (facilityId) =>
    services.store.write({
      facilityOfBays: undefined,
      delete: [id],
      lock: lockOne(facilityId, id),
      check,
      at,
      sender: request,
    }),
  );
  return { status: 204 };
}

function writeOf({ now }: BookingServices, request: ApiRequest) {
  // The database returns ids in lower case.
  const id = (request.params.id ?? '').toLowerCase();
  const check = ([booking]: readonly Booking[]): boolean => {
    if (booking) checkIfMatch(request.header('if-match'), booking);
    return true;
  };
  return { id, at: now(), check };
}
