// Describes and handles the endpoints for closures (docs/behaviour.md, "Opening hours and closures").
import { findReversedIntervalErrors, parseDates } from '@bay-booking/common/date-times';
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import { keyedRequest, newResponse } from '@bay-booking/service/idempotency';
import type { Caller, CallerRequest } from '../auth/caller.ts';
import { isUuid, newTaggedId } from '../database/tagged-id.ts';
import { apiError, badRequest, problemsOf } from '../errors.ts';
import {
  defineEndpoint,
  deletionParts,
  type EndpointServices,
  itemSuccess,
  pageSuccess,
  sharedHeaders,
  string,
} from '../http/endpoint-parts.ts';
import { listExample, listResponse, pageRequest } from '../http/pagination.ts';
import { checkResourceEtag, createdResponse, versionedResponse } from '../http/response.ts';
import type { Catalogue } from '../places/catalogue-store.ts';
import {
  type Closure,
  type ClosureRow,
  closureBodySchema,
  closureListSchema,
  closureQuerySchema,
  closureResource,
  closureSchema,
} from './closure.ts';
import type { ClosureStore } from './store.ts';
import { type RequestedClosure, validateClosure } from './validation.ts';

const path = '/api/booking-closures';
const tag = 'Opening hours and closures';

// The examples use the locations and bays of the demo.
const bodyExample = {
  bayIds: ['bay-n1-01'],
  startDate: '2030-05-02T06:00:00.000Z',
  endDate: '2030-05-02T12:00:00.000Z',
  reason: 'Maintenance',
};
const closureExample: ClosureRow = {
  facilityId: 'fac-north',
  id: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1d',
  ...bodyExample,
  locationId: null,
  createdAt: '2026-04-30T18:21:07.123Z',
  lastUpdatedAt: '2026-04-30T18:21:07.123Z',
  closedBayIds: ['bay-n1-01'],
};
const queryExample = { locationIds: ['loc-north-1'] };
const params = {
  id: { description: 'Closure ID.', schema: string, example: closureExample.id },
} as const;

type ClosureServices = EndpointServices & { readonly store: ClosureStore; readonly catalogue: Catalogue };

export function createClosureEndpoints({ store, idempotency, catalogue, link, audit, now: clock }: ClosureServices) {
  const example = closureResource(closureExample, link);
  const success = itemSuccess('closure', closureSchema, example);

  async function find(id: string, { facilities }: Caller): Promise<ClosureRow> {
    const closure = isUuid(id) ? await store.find(facilities, id) : undefined;
    if (!closure) throw apiError('ERR00404');
    return closure;
  }

  async function update(old: Closure, requested: RequestedClosure, request: CallerRequest): Promise<EndpointResponse> {
    const ifMatch = request.header('if-match');
    const updated = await store.replace(old, (current) => {
      checkResourceEtag(ifMatch, closureResource(current, link));
      // `lastUpdatedAt` never decreases, even if the clocks of two instances differ.
      const at = Math.max(clock().getTime(), Date.parse(current.lastUpdatedAt) + 1);
      return { ...requested, id: old.id, createdAt: current.createdAt, lastUpdatedAt: new Date(at).toISOString() };
    });
    // If no closure was updated, another request has deleted it or moved it to another facility.
    if (!updated) return update(await find(old.id, request.caller), requested, request);
    const facilityIds = [...new Set([old.facilityId, updated.facilityId])];
    audit(request, { action: 'closure.updated', facilityIds, target: old.id });
    return versionedResponse(closureResource(updated, link));
  }

  async function remove(id: string, request: CallerRequest): Promise<EndpointResponse> {
    const closure = await find(id, request.caller);
    const isDeleted = await store.delete(closure, (current) =>
      checkResourceEtag(request.header('if-match'), closureResource(current, link)),
    );
    if (!isDeleted) return remove(id, request);
    audit(request, { action: 'closure.deleted', facilityIds: [closure.facilityId], target: closure.id });
    return { status: 204 };
  }

  return [
    defineEndpoint({
      operationId: 'createClosure',
      method: 'POST',
      access: 'schedule',
      path,
      tag,
      summary: 'Close bays for some time',
      description: 'Closes some bays of a facility, or all bays of a location. Existing bookings stay.',
      headers: sharedHeaders.idempotencyKey,
      body: closureBodySchema,
      bodyExample,
      success: { ...success, status: 201, headers: sharedHeaders.creation },
      handlesValidationErrors: true,
      handle: (request) => {
        const now = clock();
        const { body, validationErrors, caller } = request;
        const keyed = keyedRequest(request);
        return idempotency.once(keyed, { now }, async () => {
          const requested = await validateClosure(body, validationErrors, caller.facilities, catalogue);
          const { facilityId, bayIds, locationId } = requested;
          const at = now.toISOString();
          const closure = { id: newTaggedId(facilityId, now), ...requested, createdAt: at, lastUpdatedAt: at };
          // Either `bayIds` or `locationId` is not null.
          const closedBayIds = bayIds ?? (await store.findBaysOfLocation(facilityId, locationId as string));
          const response = createdResponse(closureResource({ ...closure, closedBayIds }, link));
          await store.create(closure, newResponse(keyed, response));
          audit(request, { action: 'closure.created', facilityIds: [facilityId], target: closure.id });
          return response;
        });
      },
    }),
    defineEndpoint({
      operationId: 'listClosures',
      method: 'GET',
      access: 'read',
      path,
      tag,
      summary: 'List closures',
      description: "The closures of the token's facilities that match every filter, by startDate, then id.",
      query: closureQuerySchema,
      queryExamples: queryExample,
      success: pageSuccess('closures', closureListSchema, listExample(path, queryExample, example, link)),
      handle: async ({ query, sentQuery, caller }) => {
        const page = pageRequest(query);
        const dates = parseDates(query);
        const reversed = findReversedIntervalErrors(dates);
        if (reversed.length > 0) throw badRequest(problemsOf(reversed));
        const { rows, total } = await store.list(caller.facilities, { ...query, ...dates }, page);
        const items = rows.map((row) => closureResource(row, link));
        return listResponse({ path, sentQuery, page }, items, total, link);
      },
    }),
    defineEndpoint({
      operationId: 'getClosure',
      method: 'GET',
      access: 'read',
      path: `${path}/{id}`,
      tag,
      summary: 'Get one closure',
      description: "A closure of one of the token's facilities.",
      params,
      headers: sharedHeaders.ifNoneMatch,
      success,
      handle: async ({ params: { id = '' }, caller }) =>
        versionedResponse(closureResource(await find(id, caller), link)),
    }),
    defineEndpoint({
      operationId: 'updateClosure',
      method: 'PUT',
      access: 'schedule',
      path: `${path}/{id}`,
      tag,
      summary: 'Update a closure',
      description: 'Sets all fields. A field that is left out is cleared.',
      params,
      headers: sharedHeaders.ifMatch,
      body: closureBodySchema,
      bodyExample,
      success,
      handlesValidationErrors: true,
      handle: async (request) => {
        const { params, body, validationErrors, caller } = request;
        const old = await find(params.id ?? '', caller);
        const requested = await validateClosure(body, validationErrors, caller.facilities, catalogue);
        return update(old, requested, request);
      },
    }),
    defineEndpoint({
      operationId: 'deleteClosure',
      method: 'DELETE',
      access: 'schedule',
      path: `${path}/{id}`,
      tag,
      summary: 'Delete a closure',
      description: 'The bays can be booked again.',
      params,
      ...deletionParts,
      handle: (request) => remove(request.params.id ?? '', request),
    }),
  ];
}
