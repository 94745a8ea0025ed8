// Handles POST /api/bookings: validates the request and inserts the booking. If the database does not accept the
// booking, the response reports the reasons.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import type { Hold } from '../holds/hold.ts';
import type { FindHold } from '../holds/store.ts';
import { createOnce, newResponse } from '../idempotency/idempotency.ts';
import type { IdempotencyStore } from '../idempotency/store.ts';
import { newTaggedId } from '../places/tagged-id.ts';
import { parseDates } from '../time/date-times.ts';
import { contains } from '../time/interval.ts';
import { repeatUntilSettled } from './attempts.ts';
import type { Booking } from './booking.ts';
import { bookingPath, bookingResponse } from './resource.ts';
import { type CreateField, createFields } from './storage/columns.ts';
import {
  bookingError,
  type Conflict,
  type ErrorContext,
  findConflicts,
  findRulesVersion,
  noRulesVersion,
  type RequestBody,
  type RequestedBooking,
  validateBooking,
  type WriteServices,
} from './validation.ts';

export interface CreateServices extends WriteServices {
  readonly idempotency: IdempotencyStore;
  readonly findHold: FindHold;
}

export interface CreateRequest {
  readonly body: RequestBody<CreateField> & { readonly holdId?: string };
  readonly validationErrors: readonly ValidationError[];
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
}

export function createBookingCreator({
  store,
  idempotency,
  catalogue,
  rules,
  findHold,
  config,
  link,
  now: clock,
}: CreateServices) {
  return (request: CreateRequest): Promise<EndpointResponse> => {
    const { body, caller } = request;
    const now = clock();
    // The `contextData` of errors. `externalBookingId` is empty if the request has none.
    const context = { externalBookingId: body.externalBookingId ?? '' };
    // `keyed` is undefined if the request has no valid Idempotency-Key. `errors` also contains the errors of the key.
    return createOnce({ ...request, now, context }, idempotency, async (keyed, errors) => {
      const hold = body.holdId === undefined ? undefined : await findHold(body.holdId, caller);
      const holdErrors = hold ? findHoldErrors(hold, body) : [];
      const options = { catalogue, facilities: caller.facilities, config, now };
      const requested = await validateBooking(createFields, body, [...errors, ...holdErrors], options);
      const { bay, fields } = requested;
      // The request is invalid. The response also reports the conflicts that can already be found.
      if (!bay || !fields)
        throw bookingError(requested, context, await findAllConflicts(requested, context, { holdId: hold?.id }));

      const booking = newBooking(fields, bay.facilityId, now);
      const response = createdResponse(booking);
      const responseToStore = keyed && newResponse(keyed, response);
      return repeatUntilSettled(async (isFirstAttempt) => {
        const rulesVersion = await findRulesVersion(requested, rules);
        // The first attempt does not look up holds, because few bays have one. Every hold of the bay is then a
        // conflict, even if it is for another time. If the request uses `hold`, only holds that were added after `hold`
        // was read are conflicts.
        const creation = { rulesVersion, looksUpHolds: !isFirstAttempt, hold, response: responseToStore };
        // Cached rules that do not permit the interval may be out of date. `findAllConflicts` reads the rules again.
        const outcome = rulesVersion === noRulesVersion ? 'conflict' : await store.create(booking, creation);
        if (outcome === 'created') return response;
        if (outcome === 'key used' || outcome === 'key in progress') return outcome;
        const isExternalIdUsed = outcome === 'external id used';
        const conflicts = await findAllConflicts(requested, context, { holdId: hold?.id, isExternalIdUsed });
        if (conflicts.length > 0) throw bookingError(requested, context, conflicts);
        // The conflict has disappeared in the meantime, or the bay is held only at other times. The creation is tried
        // again.
        return undefined;
      });
    });
  };

  function createdResponse(booking: Booking): EndpointResponse {
    const { status, body, headers } = bookingResponse(201, booking, link);
    return { status, body, headers: { ...headers, Location: link('GET', bookingPath(booking)).href } };
  }

  async function findAllConflicts(
    requested: RequestedBooking<CreateField>,
    { externalBookingId }: ErrorContext,
    { holdId, isExternalIdUsed = false }: { readonly holdId: string | undefined; readonly isExternalIdUsed?: boolean },
  ): Promise<readonly Conflict[]> {
    // External ids are unique over all facilities. A client that names no bay of its facilities must not learn which
    // external ids exist.
    const mayLookUpId = requested.bay !== undefined && externalBookingId !== '';
    const isUsed = isExternalIdUsed || (mayLookUpId && (await store.isExternalIdUsed(externalBookingId)));
    const conflicts = await findConflicts(requested, { store, rules }, { holdId });
    return isUsed ? [{ code: 'BOOK00001', moreInfo: '' }, ...conflicts] : conflicts;
  }
}

function newBooking(fields: Pick<Booking, CreateField>, facilityId: string, now: Date): Booking {
  const at = now.toISOString();
  return { ...fields, id: newTaggedId(facilityId, now), facilityId, createdAt: at, lastUpdatedAt: at, version: 1 };
}

/**
 * Finds the validation errors of `holdId`. `hold` is the hold with this id. If the client has no such hold, or if the
 * hold has expired, this function is not called: the booking can still succeed, because the bay may be free.
 */
function findHoldErrors(hold: Hold, { bayId, startDate, endDate }: RequestBody<CreateField>): ValidationError[] {
  const invalid = (hint: string): ValidationError[] => [{ field: 'holdId', kind: 'invalid', hint }];
  if (bayId !== undefined && bayId !== hold.bayId) return invalid('the hold is for another bay');
  const { start, end } = parseDates({ startDate, endDate });
  // The validation of the booking (`validateBooking`) reports missing and invalid times.
  if (!start || !end || end < start) return [];
  const held = { start: Date.parse(hold.startDate), end: Date.parse(hold.endDate) };
  return contains(held, { start: start.getTime(), end: end.getTime() })
    ? []
    : invalid('the hold does not contain the interval of the booking');
}
