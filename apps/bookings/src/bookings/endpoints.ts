// Describes the endpoints for bookings, and creates, finds, updates and deletes a booking. list.ts handles the lists.
import { keyedRequest, newResponse } from '@bay-booking/service/idempotency';
import type { Caller, CallerRequest } from '../auth/caller.ts';
import { findLikelyFacilities, isUuid } from '../database/tagged-id.ts';
import { apiError } from '../errors.ts';
import {
  defineEndpoint,
  deletionParts,
  itemSuccess,
  pageSuccess,
  sharedHeaders,
  string,
} from '../http/endpoint-parts.ts';
import { defaultPageSizes, listExample } from '../http/pagination.ts';
import {
  type Booking,
  type BookingRequest,
  bookingExample,
  bookingItemExample,
  bookingListSchema,
  bookingPath,
  bookingResponse,
  bookingSchema,
  checkIfMatch,
  createBookingSchema,
  createExample,
  errorContextOf,
  exampleId,
  searchBodySchema,
  upcomingQuerySchema,
  updateBookingSchema,
  updateExample,
} from './booking.ts';
import { newBooking, validateDrafts, type WriteServices, writeDrafts } from './drafts.ts';
import { type ListServices, listUpcomingBookings, searchBookings } from './list.ts';
import { searchQuerySchema } from './search/filters.ts';
import { type BookingStore, lockOne } from './storage/store.ts';

const tag = 'Bookings';
const errorContext = errorContextOf({});
const params = { id: { description: 'Booking ID.', schema: string, example: exampleId } } as const;

export function createBookingEndpoints(services: WriteServices & ListServices) {
  const { link } = services;
  const success = itemSuccess('booking', bookingSchema, bookingExample(link));
  const listExampleAt = (path: string, query: Readonly<Record<string, unknown>>, pageSize: number) =>
    listExample(path, query, bookingItemExample(link), link, pageSize);

  return [
    defineEndpoint({
      operationId: 'createBooking',
      method: 'POST',
      access: 'write',
      path: '/api/bookings',
      tag,
      summary: 'Create a booking',
      description:
        'Books a bay. The response reports all errors that can be found. ' +
        'Bookings are half-open: a booking may start when another one ends.',
      headers: sharedHeaders.idempotencyKey,
      body: createBookingSchema,
      bodyExample: createExample,
      success: { ...success, status: 201, headers: sharedHeaders.creation },
      errorContext,
      // The handler reports these validation errors together with errors that it finds itself.
      handlesValidationErrors: true,
      handle: (request) => createBooking(services, request),
    }),
    defineEndpoint({
      operationId: 'searchBookings',
      method: 'GET',
      access: 'read',
      path: '/api/bookings',
      tag,
      summary: 'List or search bookings',
      description:
        "The bookings of the token's facilities that match every filter, by startDate, then id. " +
        'Arrays may be repeated (ids=a&ids=b), bracketed (ids[]=a), indexed (ids[0]=a) or comma-separated (ids=a,b), ' +
        '500 values at most.',
      query: searchQuerySchema,
      queryExamples: { bayIds: ['bay-n1-01'] },
      // A client can also send the dates of a search in the body of the GET request, or `endDate` as a JSON string.
      body: searchBodySchema,
      bodyUse: 'optional',
      stringBodyField: 'endDate',
      success: pageSuccess(
        'bookings',
        bookingListSchema,
        listExampleAt('/api/bookings', { bayIds: ['bay-n1-01'] }, defaultPageSizes.bookings),
      ),
      errorContext,
      handlesValidationErrors: true,
      handle: (request) => searchBookings(services, request),
    }),
    defineEndpoint({
      operationId: 'getBooking',
      method: 'GET',
      access: 'read',
      path: '/api/bookings/{id}',
      tag,
      summary: 'Get one booking',
      description: "A booking of one of the token's facilities.",
      params,
      headers: sharedHeaders.ifNoneMatch,
      success,
      errorContext,
      // The path always contains an id. The default `''` is only needed for the types.
      handle: async ({ params: { id = '' }, caller }) =>
        bookingResponse(200, await findBooking(services.store, id, caller), link),
    }),
    defineEndpoint({
      operationId: 'updateBooking',
      method: 'PUT',
      access: 'write',
      path: '/api/bookings/{id}',
      tag,
      summary: 'Update a booking',
      description:
        'Sets bay, alias, times and metadata; metadata stays if it is left out. ' +
        'externalBookingId and correlationId cannot be changed and are ignored. ' +
        'With holdId, the booking moves to the held time and uses up the hold.',
      params,
      headers: sharedHeaders.ifMatch,
      body: updateBookingSchema,
      bodyExample: updateExample,
      success,
      errorContext,
      findErrorContext: async ({ params: { id = '' }, caller }) =>
        errorContextOf(await findBooking(services.store, id, caller)),
      handlesValidationErrors: true,
      handle: (request) => updateBooking(services, request),
    }),
    defineEndpoint({
      operationId: 'deleteBooking',
      method: 'DELETE',
      access: 'write',
      path: '/api/bookings/{id}',
      tag,
      summary: 'Delete a booking',
      description: 'Deletes the booking. Its externalBookingId can be used again.',
      params,
      ...deletionParts,
      errorContext,
      handle: (request) => deleteBooking(services, request),
    }),
    defineEndpoint({
      operationId: 'listUpcomingBookings',
      method: 'GET',
      access: 'read',
      path: '/api/bays/{id}/upcoming-bookings',
      tag,
      summary: 'Upcoming bookings of one bay',
      description: 'The bookings of the bay that are in progress or in the future, by startDate, then id.',
      params: { id: { description: 'Bay ID.', schema: string, example: 'bay-n1-01' } },
      query: upcomingQuerySchema,
      success: pageSuccess(
        'bookings',
        bookingListSchema,
        listExampleAt('/api/bays/bay-n1-01/upcoming-bookings', {}, defaultPageSizes.upcomingBookings),
      ),
      errorContext,
      handle: (request) => listUpcomingBookings(services, request),
    }),
  ];
}

function createBooking(services: WriteServices, request: CallerRequest<unknown, BookingRequest['body']>) {
  const { store, idempotency, link } = services;
  const { body, caller, validationErrors: errors } = request;
  const now = services.now();
  const keyed = keyedRequest(request);
  return idempotency.once(keyed, { now, context: errorContextOf(body) }, async () => {
    const drafts = await validateDrafts(services, [{ body, errors }], { caller, now });
    const [booking] = drafts.map((draft) => newBooking(draft, now, null));
    if (!booking) throw new Error('a valid request has no booking');
    const { headers, ...created } = bookingResponse(201, booking, link);
    const response = { ...created, headers: { ...headers, Location: link('GET', bookingPath(booking)).href } };
    const stored = newResponse(keyed, response);
    await writeDrafts(store, drafts, { create: [booking], at: now, sender: request, response: stored });
    return response;
  });
}

async function updateBooking(services: WriteServices, request: CallerRequest<unknown, BookingRequest['body']>) {
  const { store, link } = services;
  const { body, validationErrors: errors, caller } = request;
  const { id, at, check } = existingOf(services, request);
  const drafts = await validateDrafts(services, [{ id, body, errors }], {
    caller,
    now: at,
    bookingIds: [id],
    findCurrent: () => findBooking(store, id, caller),
  });
  const [booking] = await writeAtFacility(store, id, caller, (facilityId) =>
    writeDrafts(store, drafts, { lock: lockOne(facilityId, id), check, at, sender: request }),
  );
  return bookingResponse(200, booking as Booking, link);
}

async function deleteBooking(services: WriteServices, request: CallerRequest) {
  const { id, at, check } = existingOf(services, request);
  await writeAtFacility(services.store, id, request.caller, (facilityId) =>
    services.store.write({ delete: [id], lock: lockOne(facilityId, id), check, at, sender: request }),
  );
  return { status: 204 };
}

function existingOf({ now }: WriteServices, { params, header }: CallerRequest) {
  // The database returns ids in lower case.
  const id = (params.id ?? '').toLowerCase();
  const check = ([booking]: readonly Booking[]): boolean => {
    if (booking) checkIfMatch(header('if-match'), booking);
    return true;
  };
  return { id, at: now(), check };
}

/** @throws {ApiError} 404 if no facility of the token has this booking */
async function findBooking(store: BookingStore, id: string, { facilities }: Caller): Promise<Booking> {
  if (isUuid(id)) {
    const likely = findLikelyFacilities(facilities, id);
    const found = likely.length > 0 ? await store.find(likely, id) : undefined;
    if (found) return found;
    // The second query includes the likely facilities again: the booking can have moved to one of them since the first
    // query.
    const moved = likely.length < facilities.length ? await store.find(facilities, id) : undefined;
    if (moved) return moved;
  }
  throw apiError('ERR00404');
}

/**
 * Calls `write` with the booking's facility, the likely one first. `write` returns undefined if the facility does not
 * have the booking, for example because another request has moved it.
 */
async function writeAtFacility<T>(
  store: BookingStore,
  id: string,
  caller: Caller,
  write: (facilityId: string) => Promise<T | undefined>,
): Promise<T> {
  const [likely] = isUuid(id) ? findLikelyFacilities(caller.facilities, id) : [];
  let facilityId = likely ?? (await findBooking(store, id, caller)).facilityId;
  for (;;) {
    const result = await write(facilityId);
    if (result !== undefined) return result;
    ({ facilityId } = await findBooking(store, id, caller));
  }
}
