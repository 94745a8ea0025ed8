// PUT /api/bookings/{id}: validates the request, updates the booking, and reports why the database refused it.
//
// The statement that locks the booking also checks If-Match. Of several concurrent updates with the same ETag, exactly
// one succeeds, and the others get 412.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { tagsToMatch } from '../http/etag.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { repeatUntilSettled } from './attempts.ts';
import { isBookingId } from './booking-id.ts';
import { createBookingFinder, type FinderServices } from './find.ts';
import { checkIfMatch } from './if-match.ts';
import { bookingResponse } from './resource.ts';
import { type UpdateField, updateFields } from './storage/columns.ts';
import type { BookingStore } from './storage/store.ts';
import { bookingError, findConflictCodes, type RequestBody, validateBooking } from './validation.ts';

export interface UpdateServices extends FinderServices {
  readonly store: BookingStore;
  readonly catalogue: Catalogue;
  readonly link: MakeLink;
  readonly now: () => Date;
}

export interface UpdateRequest {
  readonly id: string;
  readonly caller: Caller;
  readonly ifMatch: string | undefined;
  readonly body: RequestBody<UpdateField>;
  readonly validationErrors: readonly ValidationError[];
}

export function createBookingUpdater(services: UpdateServices) {
  const { store, catalogue, link, findLikelyFacilities } = services;
  const find = createBookingFinder(services);

  return async ({ id, caller, ifMatch, body, validationErrors }: UpdateRequest): Promise<EndpointResponse> => {
    const { facilities } = caller;
    const now = services.now();
    const etags = tagsToMatch(ifMatch);
    const requested = await validateBooking(updateFields, body, validationErrors, { catalogue, facilities, now });
    const { bay, fields } = requested;

    // In the common case one statement is enough: the id shows the facility, and the new bay belongs to it too.
    if (bay && fields && isBookingId(id) && findLikelyFacilities(facilities, id).includes(bay.facilityId)) {
      const outcome = await store.update({ facilityId: bay.facilityId, id }, fields, etags, now);
      if (typeof outcome === 'object') return bookingResponse(200, outcome, link);
    }

    return repeatUntilSettled(async () => {
      const booking = await find(id, caller);
      const context = { externalBookingId: booking.externalBookingId ?? '' };
      if (!bay || !fields) throw bookingError(requested, context, await findConflictCodes(requested, store, id));
      checkIfMatch(etags, booking);
      const outcome =
        bay.facilityId === booking.facilityId
          ? await store.update(booking, fields, etags, now)
          : await store.move(booking, bay.facilityId, fields, etags, now);
      if (typeof outcome === 'object') return bookingResponse(200, outcome, link);
      const codes = new Set(await findConflictCodes(requested, store, id));
      if (outcome === 'overlap') codes.add('BOOK00002');
      if (codes.size > 0) throw bookingError(requested, context, codes);
      return undefined;
    });
  };
}
