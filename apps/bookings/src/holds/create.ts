// Handles POST /api/booking-holds: validates the request and creates the hold, or reports why it cannot be created.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { newResponse } from '@bay-booking/service/idempotency/once';
import type { IdempotencyStore } from '@bay-booking/service/idempotency/store';
import type { FromSchema } from 'json-schema-to-ts';
import type { CallerRequest } from '../auth/caller.ts';
import { type BookingLimits, reservationError, validateReservation } from '../availability/reservation.ts';
import type { Config } from '../config.ts';
import { newTaggedId } from '../database/tagged-id.ts';
import { createWithKey } from '../idempotency/idempotency.ts';
import type { Catalogue } from '../places/catalogue-store.ts';
import { type Hold, holdPath, holdResource, holdSeconds } from './hold.ts';
import type { createHoldSchema } from './schema.ts';
import type { HoldStore } from './store.ts';

export interface HoldServices {
  readonly config: BookingLimits & Pick<Config, 'holdsPerOwner'>;
  readonly now: () => Date;
  readonly link: MakeLink;
  readonly store: HoldStore;
  readonly idempotency: IdempotencyStore;
  readonly catalogue: Catalogue;
}

export function createHold(
  services: HoldServices,
  request: CallerRequest<unknown, Partial<FromSchema<typeof createHoldSchema>>>,
): Promise<EndpointResponse> {
  const { store, idempotency, config, link } = services;
  const { body, caller } = request;
  const now = services.now();
  return createWithKey(request, { idempotency, now }, async (keyed, errors) => {
    const reservation = await validateReservation(body, errors, caller, { ...services, now });
    const { valid, bay, times } = reservation;
    if (!valid) {
      // The response also reports the conflicts that can already be found.
      const conflicts = bay ? await store.findConflicts(bay, times, caller, config.holdsPerOwner) : [];
      throw reservationError(reservation, conflicts);
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
    const conflicts = await store.create(hold, caller, config.holdsPerOwner, keyed && newResponse(keyed, response));
    if (conflicts.length > 0) throw reservationError(reservation, conflicts);
    return response;
  });
}
