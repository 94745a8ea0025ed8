// Describes the endpoints for bookings and creates a booking. The other handlers are in write.ts and list.ts.
import { keyedRequest, newResponse } from '@bay-booking/service/idempotency';
import type { CallerRequest } from '../auth/caller.ts';
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
  type BookingRequest,
  bookingExample,
  bookingItemExample,
  bookingListSchema,
  bookingPath,
  bookingResponse,
  bookingSchema,
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
import { deleteBooking, findBooking, updateBooking } from './write.ts';

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
