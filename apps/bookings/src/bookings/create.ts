// Handles POST /api/bookings: validates the request and creates the booking, or reports why it cannot be created.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import { reservationError, validateReservation } from '../availability/reservation.ts';
import type { Hold } from '../holds/hold.ts';
import type { ApiRequest } from '../http/shared-services.ts';
import { createOnce, newResponse } from '../idempotency/idempotency.ts';
import { newTaggedId } from '../places/tagged-id.ts';
import { parseDates } from '../time/date-times.ts';
import { contains, intervalOf } from '../time/interval.ts';
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
    const hold = body.holdId === undefined ? undefined : await services.holds.find(body.holdId, caller);
    const allErrors = [...errors, ...findHoldErrors(hold, body)];
    const reservation = await validateReservation(body, allErrors, caller, { ...services, now });
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

/** Without the hold, which can have expired, the booking can still succeed, because the bay may be free. */
function findHoldErrors(hold: Hold | undefined, { bayId, startDate, endDate }: CreateBody): ValidationError[] {
  if (!hold) return [];
  const invalid = (hint: string): ValidationError[] => [{ field: 'holdId', kind: 'invalid', hint }];
  if (bayId !== undefined && bayId !== hold.bayId) return invalid('the hold is for another bay');
  const { start, end } = parseDates({ startDate, endDate });
  // The validation of the booking reports missing and invalid times.
  if (!start || !end || end < start) return [];
  return contains(intervalOf(hold), { start: start.getTime(), end: end.getTime() })
    ? []
    : invalid('the hold does not contain the interval of the booking');
}
