// Handles DELETE /api/bookings/{id}.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { Caller } from '../auth/caller.ts';
import { tagsToMatch } from '../http/etag.ts';
import { repeatUntilSettled } from './attempts.ts';
import { createBookingFinder, type FinderServices } from './find.ts';
import { checkIfMatch } from './if-match.ts';
import type { BookingStore } from './storage/store.ts';

export interface DeleteRequest {
  readonly id: string;
  readonly caller: Caller;
  readonly ifMatch: string | undefined;
}

export function createBookingDeleter(services: FinderServices & { readonly store: Pick<BookingStore, 'delete'> }) {
  const find = createBookingFinder(services);
  return async ({ id, caller, ifMatch }: DeleteRequest): Promise<EndpointResponse> => {
    // Undefined if every ETag is allowed.
    const etags = tagsToMatch(ifMatch);
    return repeatUntilSettled(async () => {
      const booking = await find(id, caller);
      checkIfMatch(etags, booking);
      const isDeleted = await services.store.delete(booking, etags);
      // Undefined means that another request has changed or deleted the booking meanwhile. This function is then called
      // again.
      return isDeleted ? { status: 204 } : undefined;
    });
  };
}
