// Handles PUT /api/bookings/{id}: validates the request and updates the booking. If the database does not accept the
// update, the response reports the reasons.
//
// The statement that locks the booking also checks If-Match. If several concurrent updates send the same ETag, exactly
// one succeeds, and the others get 412.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { tagsToMatch } from '../http/etag.ts';
import { isUuid } from '../places/tagged-id.ts';
import { repeatUntilSettled } from './attempts.ts';
import type { Booking } from './booking.ts';
import { createBookingFinder, type FinderServices } from './find.ts';
import { checkIfMatch } from './if-match.ts';
import { bookingResponse } from './resource.ts';
import { type UpdateField, updateFields } from './storage/columns.ts';
import {
  bookingError,
  type Conflict,
  findConflicts,
  findRulesVersion,
  type RequestBody,
  type RequestedBooking,
  validateBooking,
  type WriteServices,
} from './validation.ts';

export type UpdateServices = FinderServices & WriteServices;

export interface UpdateRequest {
  readonly id: string;
  readonly caller: Caller;
  readonly ifMatch: string | undefined;
  readonly body: RequestBody<UpdateField>;
  readonly validationErrors: readonly ValidationError[];
}

export function createBookingUpdater(services: UpdateServices) {
  const { store, catalogue, rules, config, link, findLikelyFacilities } = services;
  const find = createBookingFinder(services);

  return async ({ id, caller, ifMatch, body, validationErrors }: UpdateRequest): Promise<EndpointResponse> => {
    const { facilities } = caller;
    const now = services.now();
    const etags = tagsToMatch(ifMatch);
    const options = { catalogue, facilities, config, now };
    const requested = await validateBooking(updateFields, body, validationErrors, options);
    const { bay, fields } = requested;

    // A booking id contains a tag that suggests the facility of the booking. In the common case, the requested bay
    // belongs to this facility, and one statement is enough. If the statement updates nothing, the code below reads the
    // booking, and then repeats the update or reports why the booking cannot be updated.
    if (bay && fields && isUuid(id) && findLikelyFacilities(facilities, id).includes(bay.facilityId)) {
      // If the opening hours and closures of the bay permit the times, `rulesVersion` is their version. Otherwise, it
      // is a version that no bay has. If the bay has another version than `rulesVersion`, the statement updates
      // nothing, unless the booking keeps its bay and its times.
      const rulesVersion = await findRulesVersion(requested, rules);
      const key = { facilityId: bay.facilityId, id };
      // Few bays have holds, so this first attempt does not look them up. If the bay has any live hold, the attempt
      // updates nothing.
      const outcome = await store.update({ key, change: fields, etags, at: now, rulesVersion, looksUpHolds: false });
      // An outcome that is an object is the updated booking.
      if (typeof outcome === 'object') return bookingResponse(200, outcome, link);
    }

    return repeatUntilSettled(async () => {
      const booking = await find(id, caller);
      // The `contextData` of each problem in the response.
      const context = { externalBookingId: booking.externalBookingId ?? '' };
      const findAllConflicts = () =>
        findConflicts(
          requested,
          { store, rules },
          { bookingId: id, ignoresHoursAndClosures: keepsBayAndTimes(booking, requested) },
        );
      if (!bay || !fields) throw bookingError(requested, context, await findAllConflicts());
      checkIfMatch(etags, booking);
      const rulesVersion = await findRulesVersion(requested, rules);
      const update = { change: fields, etags, at: now, rulesVersion };
      // Before these functions look up the holds of the new bay, they lock the old and the new bay. `move` also changes
      // the facility of the booking.
      const outcome =
        bay.facilityId === booking.facilityId
          ? await store.update({ ...update, key: booking, looksUpHolds: true, oldBayId: booking.bayId })
          : await store.move(booking, { ...update, facilityId: bay.facilityId });
      if (typeof outcome === 'object') return bookingResponse(200, outcome, link);
      const conflicts = await findAllConflicts();
      // The overlapping booking may have been deleted in the meantime. The response still reports the overlap.
      const lacksOverlap = outcome === 'overlap' && !conflicts.some(({ code }) => code === 'BOOK00002');
      const overlap: Conflict[] = lacksOverlap ? [{ code: 'BOOK00002', moreInfo: '' }] : [];
      if (overlap.length + conflicts.length > 0) throw bookingError(requested, context, [...overlap, ...conflicts]);
      // The conflict that prevented the update has disappeared in the meantime, so the update is repeated.
      return undefined;
    });
  };
}

/** An update that keeps the bay and the times is not checked against opening hours and closures again. */
function keepsBayAndTimes(
  { bayId, startDate, endDate }: Booking,
  { bay, interval }: Pick<RequestedBooking<UpdateField>, 'bay' | 'interval'>,
): boolean {
  return bay?.bayId === bayId && interval?.start.toISOString() === startDate && interval.end.toISOString() === endDate;
}
