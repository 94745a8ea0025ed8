// Describes and handles the endpoints for holds (docs/behaviour.md, "Holds").
import type { Caller } from '../auth/caller.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import { defineEndpoint, idempotencyKeyHeader, locationHeader, string } from '../http/endpoint-parts.ts';
import { createHold, type HoldServices } from './create.ts';
import { type Hold, holdResource, holdSeconds } from './hold.ts';
import { createHoldSchema, extendHoldSchema, holdSchema } from './schema.ts';

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
        'Keeps a bay free for the client for a short time. A hold is refused in the same cases as a booking. ' +
        'POST /api/bookings with holdId creates the booking and uses up the hold.',
      headers: idempotencyKeyHeader,
      body: createHoldSchema,
      bodyExample: { bayId, startDate, endDate, holdSeconds: holdSeconds.default, correlationId },
      success: { ...success, status: 201, headers: locationHeader },
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
