// Handles POST /api/booking-holds: validates the request and creates the hold, or reports why it cannot be created.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import type { Caller } from '../auth/caller.ts';
import { reservationError, validateReservation } from '../availability/reservation.ts';
import type { SharedServices } from '../http/shared-services.ts';
import { createOnce, newResponse } from '../idempotency/idempotency.ts';
import type { IdempotencyStore } from '../idempotency/store.ts';
import type { Catalogue } from '../places/catalogue.ts';
import { newTaggedId } from '../places/tagged-id.ts';
import { type Hold, holdSeconds } from './hold.ts';
import { holdPath, holdResource } from './resource.ts';
import type { createHoldSchema } from './schema.ts';
import type { HoldStore } from './store.ts';

export interface CreateHoldServices extends SharedServices {
  readonly store: HoldStore;
  readonly idempotency: IdempotencyStore;
  readonly catalogue: Catalogue;
}

export interface CreateHoldRequest {
  readonly body: Partial<FromSchema<typeof createHoldSchema>>;
  readonly validationErrors: readonly ValidationError[];
  readonly idempotencyKey: string | undefined;
  readonly caller: Caller;
}

/** The errors of holds have an empty `contextData`. */
const noContext = {};

export function createHoldCreator(services: CreateHoldServices) {
  const { store, idempotency, catalogue, config, link, now: clock } = services;
  const maxHolds = config.holdsPerClient;

  return (request: CreateHoldRequest): Promise<EndpointResponse> => {
    const { body, caller } = request;
    const now = clock();
    return createOnce({ ...request, now }, idempotency, async (keyed, errors) => {
      const options = { catalogue, facilities: caller.facilities, config, now };
      const reservation = await validateReservation(body, errors, options);
      const { valid, bay, times } = reservation;
      if (!valid) {
        // The response also reports the conflicts that can already be found.
        const conflicts = bay ? await store.findConflicts(bay, times, caller, maxHolds) : [];
        throw reservationError(reservation, noContext, conflicts);
      }
      // The clock of the database decides when the hold expires.
      const createdAt = await store.now();
      const seconds = body.holdSeconds ?? holdSeconds.default;
      const hold: Hold = {
        ...valid,
        id: newTaggedId(valid.facilityId, now),
        correlationId: body.correlationId ?? null,
        createdAt,
        expiresAt: new Date(Date.parse(createdAt) + seconds * 1_000).toISOString(),
      };
      const headers = { Location: link('GET', holdPath(hold)).href };
      const response = { status: 201, body: holdResource(hold, link), headers };
      const outcome = await store.create(hold, { caller, maxHolds, response: keyed && newResponse(keyed, response) });
      if (outcome === 'created') return response;
      if (typeof outcome === 'string') return outcome;
      throw reservationError(reservation, noContext, outcome);
    });
  };
}
