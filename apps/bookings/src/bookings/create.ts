// POST /api/bookings: validates the request, inserts the booking, and reports why the database refused it.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { ValidationError } from '@bay-booking/common/validation';
import type { Caller } from '../auth/caller.ts';
import { apiError, type ErrorCode, unavailable } from '../errors.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { repeatUntilSettled } from './attempts.ts';
import type { Booking } from './booking.ts';
import { newBookingId } from './booking-id.ts';
import { findKeyErrors, findStoredResponse, keyedRequest, newResponse } from './idempotency.ts';
import { bookingPath, bookingResponse } from './resource.ts';
import { type CreateField, createFields } from './storage/columns.ts';
import type { IdempotencyStore } from './storage/idempotency-store.ts';
import type { BookingStore } from './storage/store.ts';
import {
  bookingError,
  type ErrorContext,
  findConflictCodes,
  type RequestBody,
  type RequestedBooking,
  validateBooking,
} from './validation.ts';

export interface CreateServices {
  readonly store: BookingStore;
  readonly idempotency: IdempotencyStore;
  readonly catalogue: Catalogue;
  readonly link: MakeLink;
  readonly now: () => Date;
}

export interface CreateRequest {
  readonly body: RequestBody<CreateField>;
  readonly validationErrors: readonly ValidationError[];
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
}

export function createBookingCreator({ store, idempotency, catalogue, link, now: clock }: CreateServices) {
  return async (request: CreateRequest): Promise<EndpointResponse> => {
    const { body, caller, idempotencyKey } = request;
    const now = clock();
    const context = { externalBookingId: body.externalBookingId ?? '' };
    const keyErrors = findKeyErrors(idempotencyKey);
    const validationErrors = [...request.validationErrors, ...keyErrors];
    const validBody = validationErrors.length === 0 ? body : undefined;
    const keyed =
      idempotencyKey === undefined || keyErrors.length > 0
        ? undefined
        : keyedRequest(idempotencyKey, caller, validBody);
    const findStored = async () => keyed && findStoredResponse(keyed, idempotency, { caller, context, now });

    // This comes before the validation, because the date of a repeated request can be in the past by now.
    const stored = await findStored();
    if (stored) return stored;

    const requested = await validateBooking(createFields, body, validationErrors, {
      catalogue,
      facilities: caller.facilities,
      now,
    });
    const { bay, fields } = requested;
    if (!bay || !fields) throw bookingError(requested, context, await findConflicts(requested, context));

    const booking: Booking = {
      ...fields,
      id: newBookingId(bay.facilityId, now),
      facilityId: bay.facilityId,
      createdAt: now.toISOString(),
      lastUpdatedAt: now.toISOString(),
      version: 1,
    };
    const response = createdResponse(booking);
    return repeatUntilSettled(async () => {
      const outcome = await store.create(booking, keyed && newResponse(keyed, response));
      switch (outcome) {
        case 'created':
          return response;
        case 'key in progress':
          throw apiError('ERR00409', { context, headers: { 'Retry-After': '1' } });
        case 'key used': {
          const first = await findStored();
          if (first) return first;
          throw unavailable(new Error('a stored response was deleted while it was looked up'));
        }
        default: {
          const codes = await findConflicts(requested, context);
          if (outcome === 'external id used') codes.add('BOOK00001');
          if (codes.size > 0) throw bookingError(requested, context, codes);
          return undefined;
        }
      }
    });
  };

  function createdResponse(booking: Booking): EndpointResponse {
    const { status, body, headers } = bookingResponse(201, booking, link);
    return { status, body, headers: { ...headers, Location: link('GET', bookingPath(booking)).href } };
  }

  async function findConflicts(
    requested: RequestedBooking<CreateField>,
    { externalBookingId }: ErrorContext,
  ): Promise<Set<ErrorCode>> {
    const codes = new Set<ErrorCode>();
    // External ids are unique over all facilities. A token that names none of them must not learn which ids exist.
    const mayKnow = requested.bay !== undefined && externalBookingId !== '';
    if (mayKnow && (await store.isExternalIdUsed(externalBookingId))) codes.add('BOOK00001');
    for (const code of await findConflictCodes(requested, store)) codes.add(code);
    return codes;
  }
}
