// Handles DELETE /api/bookings/{id}.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { Caller } from '../auth/caller.ts';
import type { Author } from '../changes/log.ts';
import { tagsToMatch } from '../http/etag.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { type Booking, checkIfMatch } from './booking.ts';
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
  const { writeAtFacility } = createBookingFinder(services);
  return async ({ id, caller, author, ifMatch }: DeleteRequest): Promise<EndpointResponse> => {
    const etags = tagsToMatch(ifMatch);
    const at = services.now();
    const check = (booking: Booking) => checkIfMatch(etags, booking);
    await writeAtFacility(id, caller, (facilityId) => services.store.delete({ facilityId, id, at, author, check }));
    return { status: 204 };
  };
}
