// PUT and DELETE /api/bookings/{id}: how does a booking change or go? If-Match is decided by the statement that holds the lock, so of
// two that were sent with the same tag one succeeds and one is told (contract section 7).
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { apiError, unavailable } from '../errors.ts';
import { tagsToMatch } from '../http/etag.ts';
import { type Booking, tagOf } from './booking.ts';
import { type FindCandidates, isBookingId } from './booking-id.ts';
import type { BookingServices } from './create.ts';
import { bookingResponse } from './resource.ts';
import { examine, obstacleCodes, refusal, triesAtMost, type WantedFields } from './validation.ts';

export interface ChangeServices extends BookingServices {
  readonly candidates: FindCandidates;
}

interface Addressed {
  readonly id: string;
  readonly caller: Caller;
  readonly ifMatch: string | undefined;
}

export function createBookingFinder({ store, candidates }: Pick<ChangeServices, 'store' | 'candidates'>) {
  /** @throws 404 for one that is not there, or not in the token's facilities: the same answer */
  return async (id: string, { facilities }: Caller): Promise<Booking> => {
    if (isBookingId(id)) {
      const likely = candidates(facilities, id);
      const found = likely.length > 0 ? await store.find(likely, id) : undefined;
      if (found) return found;
      // All of them, in one snapshot: the others alone would miss a booking that came to the likely ones in this moment.
      const moved = likely.length < facilities.length ? await store.find(facilities, id) : undefined;
      if (moved) return moved;
    }
    throw apiError('ERR00404', { context: { externalBookingId: '' } });
  };
}

export function createBookingChanger(services: ChangeServices) {
  const { store, catalogue, link, candidates } = services;
  const find = createBookingFinder(services);

  const update = async ({
    id,
    caller,
    ifMatch,
    body,
    validationErrors,
  }: Addressed & { body: WantedFields; validationErrors: readonly ValidationError[] }): Promise<EndpointResponse> => {
    const now = services.now();
    const tags = tagsToMatch(ifMatch);
    const wanted = await examine(body, validationErrors, { catalogue, facilities: caller.facilities, now });
    const { change } = wanted;
    // The common case in one statement: the id says where the booking is, and the bay is there too.
    if (change && isBookingId(id) && candidates(caller.facilities, id).includes(change.place.facilityId)) {
      const outcome = await store.update(change.place.facilityId, id, change, tags, now);
      if (typeof outcome === 'object') return bookingResponse(200, outcome, link);
    }
    for (let attempt = 1; attempt <= triesAtMost; attempt += 1) {
      const booking = await find(id, caller);
      const context = { externalBookingId: booking.externalBookingId ?? '' };
      if (change) {
        if (tags && !tags.includes(tagOf(booking))) throw apiError('ERR00412', { context });
        const { facilityId } = change.place;
        const outcome =
          facilityId === booking.facilityId
            ? await store.update(facilityId, id, change, tags, now)
            : await store.move(booking, facilityId, change, tags, now);
        if (typeof outcome === 'object') return bookingResponse(200, outcome, link);
        const codes = new Set(await obstacleCodes(wanted, store, id));
        if (outcome === 'overlap') codes.add('BOOK00002');
        if (codes.size > 0) throw refusal(wanted, context, codes);
        // Nothing speaks against it now: the booking went or was changed in this moment, so look again.
      } else throw refusal(wanted, context, await obstacleCodes(wanted, store, id));
    }
    throw unavailable(new Error(`booking changed ${triesAtMost} times while it was being updated`));
  };

  const remove = async ({ id, caller, ifMatch }: Addressed): Promise<EndpointResponse> => {
    const tags = tagsToMatch(ifMatch);
    for (let attempt = 1; attempt <= triesAtMost; attempt += 1) {
      const booking = await find(id, caller);
      if (tags && !tags.includes(tagOf(booking))) {
        throw apiError('ERR00412', { context: { externalBookingId: booking.externalBookingId ?? '' } });
      }
      if (await store.remove(booking, tags)) return { status: 204 };
    }
    throw unavailable(new Error(`booking changed ${triesAtMost} times while it was being deleted`));
  };

  return { update, remove };
}
