// Handles POST /api/bookings: validates the request and creates the booking, or reports why it cannot be created.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { type Reservation, reservationError, validateReservation } from '../availability/reservation.ts';
import type { Conflict } from '../availability/rule.ts';
import type { Author } from '../changes/log.ts';
import type { Hold } from '../holds/hold.ts';
import type { FindHold } from '../holds/store.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { createOnce, newResponse } from '../idempotency/idempotency.ts';
import type { IdempotencyStore } from '../idempotency/store.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { newTaggedId } from '../places/tagged-id.ts';
import { parseDates } from '../time/date-times.ts';
import { contains, intervalOf } from '../time/interval.ts';
import type { NewBooking } from './booking.ts';
import { bookingPath, bookingResponse } from './resource.ts';
import { type CreateField, createFields, pick } from './storage/columns.ts';
import type { BookingStore } from './storage/store.ts';

export interface CreateServices extends SharedServices {
  readonly store: BookingStore;
  readonly idempotency: IdempotencyStore;
  readonly catalogue: Catalogue;
  readonly findHold: FindHold;
}

/** The valid fields of the body. */
type CreateBody = { readonly [F in CreateField]?: string } & { readonly holdId?: string };

export interface CreateRequest {
  readonly body: CreateBody;
  readonly validationErrors: readonly ValidationError[];
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
  readonly author: Author;
}

export function createBookingCreator(services: CreateServices) {
  const { store, idempotency, catalogue, findHold, config, link, now: clock } = services;

  return (request: CreateRequest): Promise<EndpointResponse> => {
    const { body, caller, author } = request;
    const now = clock();
    // The `contextData` of errors. `externalBookingId` is empty if the request has none.
    const context = { externalBookingId: body.externalBookingId ?? '' };
    return createOnce({ ...request, now, context }, idempotency, async (keyed, errors) => {
      const hold = body.holdId === undefined ? undefined : await findHold(body.holdId, caller);
      const holdErrors = hold ? findHoldErrors(hold, body) : [];
      const options = { catalogue, facilities: caller.facilities, config, now };
      const reservation = await validateReservation(body, [...errors, ...holdErrors], options);
      const { valid } = reservation;
      if (!valid)
        throw reservationError(reservation, context, await findCurrentConflicts(reservation, context, hold?.id));

      const at = now.toISOString();
      const booking: NewBooking = {
        ...pick(createFields, { ...body, ...valid }),
        id: newTaggedId(valid.facilityId, now),
        facilityId: valid.facilityId,
        createdAt: at,
        lastUpdatedAt: at,
        version: 1,
      };
      const response = createdResponse(booking);
      const outcome = await store.create({
        bookings: [booking],
        holdId: hold?.id,
        response: keyed && newResponse(keyed, response),
        author,
      });
      if (outcome === 'created') return response;
      if (typeof outcome === 'string') return outcome;
      throw reservationError(reservation, context, outcome.flat());
    });
  };

  function createdResponse(booking: NewBooking): EndpointResponse {
    const { status, body, headers } = bookingResponse(201, booking, link);
    return { status, body, headers: { ...headers, Location: link('GET', bookingPath(booking)).href } };
  }

  /** The response to an invalid request also reports the conflicts that can already be found. */
  async function findCurrentConflicts(
    { bay, times }: Reservation,
    { externalBookingId }: { readonly externalBookingId: string },
    holdId: string | undefined,
  ): Promise<readonly Conflict[]> {
    // A client that names no bay of its facilities must not learn which external ids exist.
    if (!bay) return [];
    const isUsed = externalBookingId !== '' && (await store.isExternalIdUsed(externalBookingId));
    const conflicts = await store.findConflicts(bay, times, { holdId });
    return isUsed ? [{ code: 'BOOK00001', moreInfo: '' }, ...conflicts] : conflicts;
  }
}

/**
 * `hold` is the hold with the `holdId` of the request. If the client has no such hold, or if the hold has expired, the
 * booking can still succeed, because the bay may be free.
 */
function findHoldErrors(hold: Hold, { bayId, startDate, endDate }: CreateBody): ValidationError[] {
  const invalid = (hint: string): ValidationError[] => [{ field: 'holdId', kind: 'invalid', hint }];
  if (bayId !== undefined && bayId !== hold.bayId) return invalid('the hold is for another bay');
  const { start, end } = parseDates({ startDate, endDate });
  // The validation of the booking reports missing and invalid times.
  if (!start || !end || end < start) return [];
  return contains(intervalOf(hold), { start: start.getTime(), end: end.getTime() })
    ? []
    : invalid('the hold does not contain the interval of the booking');
}
