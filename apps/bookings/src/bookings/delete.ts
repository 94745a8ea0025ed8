// Handles DELETE /api/bookings/{id}.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { Caller } from '../auth/caller.ts';
import type { Author } from '../changes/log.ts';
import { tagsToMatch } from '../http/etag.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { checkIfMatch } from './booking.ts';
import { createBookingFinder, type FinderServices } from './find.ts';
import type { BookingStore } from './storage/store.ts';

export interface DeleteServices extends FinderServices, Pick<SharedServices, 'now'> {
  readonly store: BookingStore;
}

export interface DeleteRequest {
  readonly id: string;
  readonly caller: Caller;
  readonly author: Author;
  readonly ifMatch: string | undefined;
}

export function createBookingDeleter(services: DeleteServices) {
  const find = createBookingFinder(services);
  return async function deleteBooking(request: DeleteRequest): Promise<EndpointResponse> {
    const { id, caller, author, ifMatch } = request;
    const etags = tagsToMatch(ifMatch);
    const { facilityId } = await find(id, caller);
    const isDeleted = await services.store.delete({
      facilityId,
      id,
      at: services.now(),
      author,
      check: (booking) => checkIfMatch(etags, booking),
    });
    // Without the booking, another request has deleted it, or moved it to another facility.
    return isDeleted ? { status: 204 } : deleteBooking(request);
  };
}
