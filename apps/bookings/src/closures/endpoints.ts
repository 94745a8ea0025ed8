// Describes and handles the endpoints for closures (docs/behaviour.md, "Opening hours and closures").
import { endpointDefiner } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { Caller } from '../auth/caller.ts';
import { repeatUntilSettled } from '../bookings/attempts.ts';
import { isBookingId, newBookingId } from '../bookings/booking-id.ts';
import { findReversedInterval, parseDateTime } from '../bookings/date-times.ts';
import { createOnce, newResponse } from '../bookings/idempotency.ts';
import type { IdempotencyStore } from '../bookings/storage/idempotency-store.ts';
import { apiError, badRequest, fieldCodes, idempotencyCodes, problemsOf } from '../errors.ts';
import {
  creationHeaders,
  deletionParts,
  etagHeader,
  idempotencyKeyHeader,
  ifMatchHeader,
  ifNoneMatchHeader,
  pageSuccess,
} from '../http/endpoint-parts.ts';
import { tagsToMatch } from '../http/etag.ts';
import { defaultPageSizes, listResponse, pageRequest } from '../http/pagination.ts';
import type { Closure, ClosureRow } from './closure.ts';
import { closureBodyExample, closureExample, closureListExample, closureQueryExample } from './examples.ts';
import { closureEtag, closurePath, closureResource, closureResponse } from './resource.ts';
import { closureBodySchema, closureListSchema, closureQuerySchema, closureSchema } from './schema.ts';
import type { ClosureStore } from './store.ts';
import { validateClosure } from './validation.ts';

const defineEndpoint = endpointDefiner<Caller>();
const tag = 'Opening hours and closures';
const params = {
  id: { description: 'Closure ID.', schema: { type: 'string' }, example: closureExample.id },
} as const;

export interface ClosureServices {
  readonly store: ClosureStore;
  readonly idempotency: IdempotencyStore;
  readonly link: MakeLink;
  readonly now: () => Date;
}

export function createClosureEndpoints({ store, idempotency, link, now: clock }: ClosureServices) {
  const example = closureResource(closureExample, link);
  const success = { status: 200, description: 'The closure.', schema: closureSchema, example, headers: etagHeader };

  async function find(id: string, { facilities }: Caller): Promise<ClosureRow> {
    const closure = isBookingId(id) ? await store.find(facilities, id) : undefined;
    if (!closure) throw apiError('ERR00404');
    return closure;
  }

  function checkIfMatch(ifMatch: string | undefined, closure: ClosureRow): void {
    const etags = tagsToMatch(ifMatch);
    if (etags && !etags.includes(closureEtag(closure, link))) throw apiError('ERR00412');
  }

  return [
    defineEndpoint({
      operationId: 'createClosure',
      clientFunction: 'closures.create',
      method: 'POST',
      path: '/api/booking-closures',
      tag,
      summary: 'Close bays for some time',
      description: 'Closes some bays of a facility, or all bays of a location. Bookings that exist stay.',
      headers: idempotencyKeyHeader,
      body: closureBodySchema,
      bodyExample: closureBodyExample,
      success: { ...success, status: 201, headers: creationHeaders },
      errorCodes: [...fieldCodes, 'ERR00010', 'ERR00012', ...idempotencyCodes],
      reportsValidationErrors: true,
      handle: ({ body, validationErrors, caller, header }) => {
        const now = clock();
        const request = { idempotencyKey: header('idempotency-key'), caller, body, validationErrors, now };
        return createOnce(request, idempotency, async (keyed, errors) => {
          const requested = await validateClosure(body, errors, caller.facilities, store);
          const { facilityId, bayIds, locationId } = requested;
          const at = now.toISOString();
          const id = newBookingId(facilityId, now);
          const closure: Closure = { id, ...requested, createdAt: at, lastUpdatedAt: at };
          const closedBayIds = bayIds ?? (await store.findBaysOfLocation(facilityId, locationId ?? ''));
          const { headers, ...created } = closureResponse(201, { ...closure, closedBayIds }, link);
          const response = { ...created, headers: { ...headers, Location: link('GET', closurePath(closure)).href } };
          const outcome = await store.create(closure, keyed && newResponse(keyed, response));
          return outcome === 'stored' ? response : outcome;
        });
      },
    }),
    defineEndpoint({
      operationId: 'listClosures',
      clientFunction: 'closures.list',
      method: 'GET',
      path: '/api/booking-closures',
      tag,
      summary: 'List closures',
      description: "The closures of the token's facilities that match every filter, by startDate, then id.",
      query: closureQuerySchema,
      queryExamples: closureQueryExample,
      success: pageSuccess('closures', closureListSchema, closureListExample(link)),
      errorCodes: ['ERR00002'],
      handle: async ({ query, caller }) => {
        const page = pageRequest(query, defaultPageSizes.closures);
        const [start, end] = [query.startDate, query.endDate].map((text) => (text ? parseDateTime(text) : undefined));
        const reversed = findReversedInterval(start, end);
        if (reversed.length > 0) throw badRequest(problemsOf(reversed));
        const filter = { ...query, start, end };
        const { rows, total } = await store.list(caller.facilities, filter, page);
        const items = rows.map((row) => closureResource(row, link));
        return listResponse({ path: '/api/booking-closures', query, page }, items, total, link);
      },
    }),
    defineEndpoint({
      operationId: 'getClosure',
      clientFunction: 'closures.get',
      method: 'GET',
      path: '/api/booking-closures/{id}',
      tag,
      summary: 'Get one closure',
      description: "A closure of one of the token's facilities.",
      params,
      headers: ifNoneMatchHeader,
      success,
      notModified: true,
      errorCodes: ['ERR00404'],
      handle: async ({ params: { id = '' }, caller }) => closureResponse(200, await find(id, caller), link),
    }),
    defineEndpoint({
      operationId: 'updateClosure',
      clientFunction: 'closures.update',
      method: 'PUT',
      path: '/api/booking-closures/{id}',
      tag,
      summary: 'Update a closure',
      description: 'Sets all fields. A field that is left out is cleared.',
      params,
      headers: ifMatchHeader,
      body: closureBodySchema,
      bodyExample: closureBodyExample,
      success,
      errorCodes: [...fieldCodes, 'ERR00010', 'ERR00012', 'ERR00404', 'ERR00412'],
      reportsValidationErrors: true,
      handle: ({ params: { id = '' }, body, validationErrors, caller, header }) =>
        repeatUntilSettled(async () => {
          const old = await find(id, caller);
          const requested = await validateClosure(body, validationErrors, caller.facilities, store);
          checkIfMatch(header('if-match'), old);
          // The store recognizes the version of a closure by this timestamp, so a new version needs a later one.
          const at = Math.max(clock().getTime(), Date.parse(old.lastUpdatedAt) + 1);
          const { createdAt } = old;
          const replacement = { ...requested, id: old.id, createdAt, lastUpdatedAt: new Date(at).toISOString() };
          const isReplaced = await store.replace(old, replacement);
          const updated = isReplaced ? await store.find([replacement.facilityId], id) : undefined;
          return updated && closureResponse(200, updated, link);
        }),
    }),
    defineEndpoint({
      operationId: 'deleteClosure',
      clientFunction: 'closures.delete',
      method: 'DELETE',
      path: '/api/booking-closures/{id}',
      tag,
      summary: 'Delete a closure',
      description: 'The bays can be booked again.',
      params,
      ...deletionParts,
      handle: ({ params: { id = '' }, caller, header }) =>
        repeatUntilSettled(async () => {
          const closure = await find(id, caller);
          checkIfMatch(header('if-match'), closure);
          return (await store.replace(closure, undefined)) ? { status: 204 } : undefined;
        }),
    }),
  ];
}
