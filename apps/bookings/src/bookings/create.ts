// Handles POST /api/bookings: validates the request and creates the booking, or reports why it cannot be created.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { newResponse } from '@bay-booking/service/idempotency/once';
import type { ApiRequest } from '../http/shared-services.ts';
import { createOnce } from '../idempotency/idempotency.ts';
import { type CreateBody, draftsError, holdIdsOf, newBooking, validateDrafts } from './drafts.ts';
import { bookingPath, bookingResponse, errorContextOf } from './resource.ts';
import type { BookingServices } from './services.ts';

export function createBooking(
  services: BookingServices,
  request: ApiRequest<unknown, CreateBody>,
): Promise<EndpointResponse> {
  const { store, idempotency, link } = services;
  const { body, caller } = request;
  const now = services.now();
  const context = errorContextOf(body);
  return createOnce(request, { idempotency, now, context }, async (keyed, errors) => {
    const drafts = await validateDrafts(services, [{ body, errors, context }], { caller, now });
    const [booking] = drafts.map((draft) => newBooking(draft, now, null));
    if (!booking) throw new Error('a valid request has no booking');
    const { headers, ...created } = bookingResponse(201, booking, link);
    const response = { ...created, headers: { ...headers, Location: link('GET', bookingPath(booking)).href } };
    const outcome = await store.write({
      facilityOfBays: booking.facilityId,
      create: [booking],
      holdIds: holdIdsOf(drafts),
      at: now,
      sender: request,
      response: keyed && newResponse(keyed, response),
    });
    if (outcome?.conflicts.length) throw draftsError(drafts, outcome.conflicts);
    return response;
  });
}
