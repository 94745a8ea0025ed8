// Describes and handles the endpoints for holds (docs/behaviour.md, "Holds").
import { type EndpointResponse, namedSchema } from '@bay-booking/common/endpoint';
import { linksSchema } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import { keyedRequest, newResponse } from '@bay-booking/service/idempotency';
import type { FromSchema } from 'json-schema-to-ts';
import type { Caller, CallerRequest } from '../auth/caller.ts';
import { problemsOfReservation, validateReservation } from '../availability/reservation.ts';
import { newTaggedId } from '../database/tagged-id.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import {
  bayIdSchema,
  dateTimeSchema as dateTime,
  defineEndpoint,
  type EndpointServices,
  sharedHeaders,
  string,
} from '../http/endpoint-parts.ts';
import type { Catalogue } from '../places/catalogue-store.ts';
import { type Hold, holdPath, holdResource, holdSeconds } from './hold.ts';
import type { HoldStore } from './store.ts';

const seconds = { type: 'integer', minimum: holdSeconds.min, maximum: holdSeconds.max } as const;

const createHoldSchema = {
  title: 'CreateHold',
  type: 'object',
  required: ['bayId', 'startDate', 'endDate'],
  properties: {
    bayId: { ...bayIdSchema, description: 'Bay to hold.' },
    startDate: { ...dateTime, description: 'Start, with a zone; digits beyond milliseconds are cut.' },
    endDate: { ...dateTime, description: 'End, not before the start and not in the past.' },
    holdSeconds: { ...seconds, description: `How long to hold the bay; ${holdSeconds.default} if left out.` },
    correlationId: { ...textSchema, description: 'Groups bookings of one user session.' },
  },
} as const;

const extendHoldSchema = {
  title: 'ExtendHold',
  type: 'object',
  required: ['holdSeconds'],
  properties: {
    holdSeconds: { ...seconds, description: 'Counts from now. A hold lasts 30 minutes in total at most.' },
  },
} as const;

const holdSchema = namedSchema(
  'Hold',
  {
    id: { type: 'string', format: 'uuid', description: 'Hold ID.' },
    bayId: { type: 'string', description: 'ID of the bay.' },
    startDate: { ...dateTime, description: 'Start, UTC.' },
    endDate: { ...dateTime, description: 'End, UTC.' },
    expiresAt: { ...dateTime, description: 'When the hold ends by itself, UTC.' },
    createdAt: { ...dateTime, description: 'Creation timestamp, UTC.' },
    correlationId: { ...textSchema, description: 'Left out where the client gave none.' },
    _links: linksSchema('self', 'edit', 'delete', 'book'),
  },
  // The properties that can be left out.
  ['correlationId'],
);

const tag = 'Holds';

const holdExample: Hold = {
  facilityId: 'fac-north',
  id: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1d',
  bayId: 'bay-n1-01',
  startDate: '2030-05-01T09:00:00.000Z',
  endDate: '2030-05-01T10:00:00.000Z',
  expiresAt: '2026-04-30T18:26:07.123Z',
  createdAt: '2026-04-30T18:21:07.123Z',
  correlationId: 'session-7',
};
const params = { id: { description: 'Hold ID.', schema: string, example: holdExample.id } } as const;

export function createHoldEndpoints(services: HoldServices) {
  const { store, link } = services;
  const success = {
    status: 200,
    description: 'The hold.',
    schema: holdSchema,
    example: holdResource(holdExample, link),
  };
  const { bayId, startDate, endDate, correlationId } = holdExample;

  async function find(id: string, caller: Caller): Promise<Hold> {
    const hold = await store.find(id, caller);
    if (!hold) throw apiError('ERR00404');
    return hold;
  }

  return [
    defineEndpoint({
      operationId: 'createHold',
      method: 'POST',
      access: 'write',
      path: '/api/booking-holds',
      tag,
      summary: 'Hold a bay',
      description:
        'Keeps a bay free for the client for a short time. A hold is rejected in the same cases as a booking. ' +
        'POST /api/bookings with holdId creates the booking and uses up the hold.',
      headers: sharedHeaders.idempotencyKey,
      body: createHoldSchema,
      bodyExample: { bayId, startDate, endDate, holdSeconds: holdSeconds.default, correlationId },
      success: { ...success, status: 201, headers: sharedHeaders.location },
      handlesValidationErrors: true,
      handle: (request) => createHold(services, request),
    }),
    defineEndpoint({
      operationId: 'getHold',
      method: 'GET',
      access: 'write',
      path: '/api/booking-holds/{id}',
      tag,
      summary: 'Get one hold',
      description: 'A live hold of the client. A hold that has expired or was used does not exist.',
      params,
      success,
      handle: async ({ params: { id = '' }, caller }) => ({
        status: 200,
        body: holdResource(await find(id, caller), link),
      }),
    }),
    defineEndpoint({
      operationId: 'extendHold',
      method: 'PUT',
      access: 'write',
      path: '/api/booking-holds/{id}',
      tag,
      summary: 'Set when a hold expires',
      description: 'The seconds count from now. The hold ends 30 minutes after its creation at the latest.',
      params,
      body: extendHoldSchema,
      bodyExample: { holdSeconds: holdSeconds.default },
      success,
      // A request for a hold that does not exist gets 404, even if the request has validation errors.
      handlesValidationErrors: true,
      handle: async ({ params: { id = '' }, body, validationErrors, caller }) => {
        const hold = await find(id, caller);
        // The field is mandatory, so there is a validation error if it is undefined.
        if (body.holdSeconds === undefined || validationErrors.length > 0)
          throw badRequest(problemsOf(validationErrors));
        return { status: 200, body: holdResource(await store.extend(hold, body.holdSeconds), link) };
      },
    }),
    defineEndpoint({
      operationId: 'deleteHold',
      method: 'DELETE',
      access: 'write',
      path: '/api/booking-holds/{id}',
      tag,
      summary: 'Delete a hold',
      description: 'The bay is free again.',
      params,
      success: { status: 204, description: 'Deleted.' },
      handle: async ({ params: { id = '' }, caller }) => {
        if (!(await store.delete(await find(id, caller)))) throw apiError('ERR00404');
        return { status: 204 };
      },
    }),
  ];
}

type HoldServices = EndpointServices & { readonly store: HoldStore; readonly catalogue: Catalogue };

function createHold(
  services: HoldServices,
  request: CallerRequest<unknown, Partial<FromSchema<typeof createHoldSchema>>>,
): Promise<EndpointResponse> {
  const { store, idempotency, config, link } = services;
  const { body, caller } = request;
  const now = services.now();
  const keyed = keyedRequest(request);
  return idempotency.once(keyed, { now }, async () => {
    const reservation = await validateReservation(body, request.validationErrors, caller, { ...services, now });
    const { valid, bay, times } = reservation;
    if (!valid) {
      // The response also reports the conflicts that can already be found.
      const conflicts = bay ? await store.findConflicts(bay, times, caller, config.holdsPerOwner) : [];
      throw badRequest(problemsOfReservation(reservation, conflicts));
    }
    // The clock of the database decides when the hold expires.
    const createdAt = await store.now();
    const seconds = body.holdSeconds ?? holdSeconds.default;
    const hold: Hold = {
      id: newTaggedId(valid.facilityId, now),
      ...valid,
      correlationId: body.correlationId ?? null,
      createdAt,
      expiresAt: new Date(Date.parse(createdAt) + seconds * 1_000).toISOString(),
    };
    const headers = { Location: link('GET', holdPath(hold)).href };
    const response = { status: 201, body: holdResource(hold, link), headers };
    const conflicts = await store.create(hold, caller, config.holdsPerOwner, newResponse(keyed, response));
    if (conflicts.length > 0) throw badRequest(problemsOfReservation(reservation, conflicts));
    return response;
  });
}
