// Handles PUT and DELETE /api/bookings/{id}: updates or deletes the booking, or reports why it cannot be updated.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { reservationError, validateReservation } from '../availability/reservation.ts';
import type { ApiRequest } from '../http/shared-services.ts';
import { findBooking, writeAtFacility } from './find.ts';
import { findHold } from './hold.ts';
import { type Booking, bookingResponse, checkIfMatch, errorContextOf, metadataOf } from './resource.ts';
import type { BookingServices } from './services.ts';
import { pick, type UpdateField, updateFields } from './storage/columns.ts';
import { keepsBayAndTimes } from './storage/store.ts';

type UpdateBody = { readonly [F in UpdateField]?: Booking[F] } & { readonly holdId?: string };

export async function updateBooking(
  services: BookingServices,
  request: ApiRequest<unknown, UpdateBody>,
): Promise<EndpointResponse> {
  const { store } = services;
  const { body, caller } = request;
  const write = writeOf(services, request);
  const { hold, holdErrors } = await findHold(services.holds, body, caller);
  const errors = [...request.validationErrors, ...holdErrors];
  const reservation = await validateReservation(body, errors, caller, { ...services, now: write.at });
  const { valid, bay, times } = reservation;
  if (!valid) {
    // The response also reports the conflicts that can already be found.
    const current = await findBooking(store, write.id, caller);
    const ignoresHoursAndClosures = keepsBayAndTimes(current, { ...bay, ...times });
    const options = { bookingId: write.id, holdIds: hold ? [hold.id] : [], ignoresHoursAndClosures };
    const [conflicts = []] = bay ? await store.findConflicts([{ bay, times }], options) : [];
    throw reservationError(reservation, conflicts, errorContextOf(current));
  }
  const change = { ...pick(updateFields, { ...body, ...valid }), metadata: metadataOf(body) };
  const { booking, conflicts } = await writeAtFacility(store, write.id, caller, (facilityId) =>
    store.update({ ...write, facilityId, change, facilityOfBay: valid.facilityId, holdId: hold?.id }),
  );
  if (conflicts.length > 0) throw reservationError(reservation, conflicts, errorContextOf(booking));
  return bookingResponse(200, booking, services.link);
}

export async function deleteBooking(services: BookingServices, request: ApiRequest): Promise<EndpointResponse> {
  const write = writeOf(services, request);
  await writeAtFacility(services.store, write.id, request.caller, (facilityId) =>
    services.store.delete({ ...write, facilityId }),
  );
  return { status: 204 };
}

function writeOf({ now }: BookingServices, request: ApiRequest) {
  const { id = '' } = request.params;
  const check = (booking: Booking) => checkIfMatch(request.header('if-match'), booking);
  return { id, at: now(), sender: request, check };
}
