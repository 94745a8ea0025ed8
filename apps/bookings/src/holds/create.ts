// Handles POST /api/booking-holds: validates the request and creates a hold. The conditions for a hold are those for a
// booking, and the same code checks them. In addition, the number of holds of a client is limited.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { ValidationError } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import type { Caller } from '../auth/caller.ts';
import type { RulesStore } from '../availability/rules-store.ts';
import { repeatUntilSettled } from '../bookings/attempts.ts';
import type { BookingStore } from '../bookings/storage/store.ts';
import {
  bookingError,
  type Conflict,
  findConflicts,
  findRulesVersion,
  noRulesVersion,
  validateBooking,
} from '../bookings/validation.ts';
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
  readonly bookings: Pick<BookingStore, 'findConflicts'>;
  readonly idempotency: IdempotencyStore;
  readonly catalogue: Catalogue;
  readonly rules: RulesStore;
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
  const { store, bookings, idempotency, catalogue, rules, config, link, now: clock } = services;
  const maxHolds = config.holdsPerClient;

  return ({ body, validationErrors, idempotencyKey, caller }: CreateHoldRequest): Promise<EndpointResponse> => {
    const now = clock();
    const request = { idempotencyKey, caller, body, validationErrors, now };
    // `keyed` is undefined for a request without an Idempotency-Key. The response is then not stored. `errors` are
    // `validationErrors` and any error of the key.
    return createOnce(request, idempotency, async (keyed, errors) => {
      const fields = ['bayId', 'startDate', 'endDate'] as const;
      const options = { catalogue, facilities: caller.facilities, config, now };
      const requested = await validateBooking(fields, body, errors, options);
      const { bay, fields: valid } = requested;
      const findAllConflicts = async (): Promise<readonly Conflict[]> => {
        const conflicts = await findConflicts(requested, { store: bookings, rules });
        const hasTooMany = (await store.count(caller)) >= maxHolds;
        return hasTooMany ? [...conflicts, { code: 'BOOK00004', moreInfo: '' }] : conflicts;
      };
      // A response lists all errors, so the conflicts are also sought for an invalid request.
      if (!bay || !valid) throw bookingError(requested, noContext, await findAllConflicts());

      return repeatUntilSettled(async () => {
        const rulesVersion = await findRulesVersion(requested, rules);
        // The clock of the database decides when the hold expires.
        const createdAt = await store.now();
        const seconds = body.holdSeconds ?? holdSeconds.default;
        const hold: Hold = {
          ...valid,
          id: newTaggedId(bay.facilityId, now),
          facilityId: bay.facilityId,
          correlationId: body.correlationId ?? null,
          createdAt,
          expiresAt: new Date(Date.parse(createdAt) + seconds * 1_000).toISOString(),
        };
        const headers = { Location: link('GET', holdPath(hold)).href };
        const response = { status: 201, body: holdResource(hold, link), headers };
        const creation = { caller, rulesVersion, maxHolds, response: keyed && newResponse(keyed, response) };
        // `noRulesVersion` means that the cached rules do not permit the interval. They may be out of date, so this is
        // treated as a conflict, and `findAllConflicts` reads the rules again.
        const outcome = rulesVersion === noRulesVersion ? 'conflict' : await store.create(hold, creation);
        if (outcome === 'created') return response;
        // `createOnce` responds to these two outcomes.
        if (outcome === 'key used' || outcome === 'key in progress') return outcome;
        const conflicts = await findAllConflicts();
        if (conflicts.length > 0) throw bookingError(requested, noContext, conflicts);
        // The conflict has disappeared in the meantime, so the creation is tried again.
        return undefined;
      });
    });
  };
}
