// Describes the six endpoints for bookings. Their handlers are in create.ts, update.ts, delete.ts, find.ts and list.ts.
import { endpointDefiner } from '@bay-booking/common/endpoint';
import type { Caller } from '../auth/caller.ts';
import type { Author } from '../changes/log.ts';
import {
  deletionParts,
  idempotencyKeyHeader,
  ifMatchHeader,
  ifNoneMatchHeader,
  pageSuccess,
} from '../http/endpoint-parts.ts';
import { type CreateServices, createBookingCreator } from './create.ts';
import { createBookingDeleter } from './delete.ts';
import {
  bookingExample,
  bookingListExample,
  createExample,
  exampleId,
  upcomingListExample,
  updateExample,
} from './examples.ts';
import { createBookingFinder } from './find.ts';
import { createBookingLister, type ListServices } from './list.ts';
import { bookingResponse } from './resource.ts';
import {
  bookingListSchema,
  bookingSchema,
  createBookingSchema,
  searchBodySchema,
  searchQuerySchema,
  upcomingQuerySchema,
  updateBookingSchema,
} from './schema.ts';
import { createBookingUpdater, type UpdateServices } from './update.ts';

const defineEndpoint = endpointDefiner<Caller>();
const string = { type: 'string' } as const;
const tag = 'Bookings';
/** Errors of these endpoints contain the external booking id of the request. It is empty if the request has none. */
const errorContext = { externalBookingId: '' };
const params = { id: { description: 'Booking ID.', schema: string, example: exampleId } } as const;
const etag = { ETag: { description: 'The version of the booking (RFC 9110).', schema: string } } as const;

export type BookingEndpointServices = CreateServices & UpdateServices & ListServices;

export function createBookingEndpoints(services: BookingEndpointServices) {
  const createBooking = createBookingCreator(services);
  const updateBooking = createBookingUpdater(services);
  const deleteBooking = createBookingDeleter(services);
  const { find: findBooking } = createBookingFinder(services);
  const { search, upcoming } = createBookingLister(services);
  const example = bookingExample(services.config.baseUrl);
  const success = { status: 200, description: 'The booking.', schema: bookingSchema, example, headers: etag };

  return [
    defineEndpoint({
      operationId: 'createBooking',
      clientFunction: 'bookings.create',
      method: 'POST',
      path: '/api/bookings',
      tag,
      summary: 'Create a booking',
      description:
        'Books a bay. The response reports all errors that can be found. ' +
        'Bookings are half-open: a booking may start when another one ends.',
      headers: {
        'Idempotency-Key': {
          ...idempotencyKeyHeader['Idempotency-Key'],
          description:
            'Makes it safe to repeat the request. For 24 hours, a request with the same key and body gets the same ' +
            'response with Idempotency-Replayed: true, and a request with the same key and another body gets 422.',
        },
      },
      body: createBookingSchema,
      bodyExample: createExample,
      success: {
        ...success,
        status: 201,
        headers: { ...etag, Location: { description: 'The address of the booking.', schema: string } },
      },
      errorContext,
      // The handler reports the validation errors together with the errors that it finds itself.
      handlesValidationErrors: true,
      handle: ({ body, validationErrors, header, ...request }) =>
        createBooking({ body, validationErrors, idempotencyKey: header('idempotency-key'), ...sender(request) }),
    }),
    defineEndpoint({
      operationId: 'searchBookings',
      clientFunction: 'bookings.search',
      method: 'GET',
      path: '/api/bookings',
      tag,
      summary: 'List or search bookings',
      description:
        "The bookings of the token's facilities that match every filter, by startDate, then id. " +
        'Arrays may be repeated (ids=a&ids=b), bracketed (ids[]=a), indexed (ids[0]=a) or comma-separated (ids=a,b), ' +
        '500 values at most.',
      query: searchQuerySchema,
      queryExamples: { bayIds: ['bay-n1-01'] },
      // A client can also send the `endDate` of a search in the body of the GET request, as an object or as a JSON
      // string.
      body: searchBodySchema,
      bodyUse: 'optional',
      stringBodyField: 'endDate',
      success: pageSuccess('bookings', bookingListSchema, bookingListExample(services.config.baseUrl)),
      errorContext,
      handlesValidationErrors: true,
      handle: ({ query, body, validationErrors, caller }) => search(query, body, validationErrors, caller),
    }),
    defineEndpoint({
      operationId: 'getBooking',
      clientFunction: 'bookings.get',
      method: 'GET',
      path: '/api/bookings/{id}',
      tag,
      summary: 'Get one booking',
      description: "A booking of one of the token's facilities.",
      params,
      headers: ifNoneMatchHeader,
      success,
      notModified: true,
      errorContext,
      // The path always contains an id. The default `''` is only needed for the types.
      handle: async ({ params: { id = '' }, caller }) =>
        bookingResponse(200, await findBooking(id, caller), services.link),
    }),
    defineEndpoint({
      operationId: 'updateBooking',
      clientFunction: 'bookings.update',
      method: 'PUT',
      path: '/api/bookings/{id}',
      tag,
      summary: 'Update a booking',
      description: 'Sets bay, alias and times. externalBookingId and correlationId cannot be changed and are ignored.',
      params,
      headers: ifMatchHeader,
      body: updateBookingSchema,
      bodyExample: updateExample,
      success,
      errorContext,
      handlesValidationErrors: true,
      handle: ({ params: { id = '' }, body, validationErrors, header, ...request }) =>
        updateBooking({ id, ifMatch: header('if-match'), body, validationErrors, ...sender(request) }),
    }),
    defineEndpoint({
      operationId: 'deleteBooking',
      clientFunction: 'bookings.delete',
      method: 'DELETE',
      path: '/api/bookings/{id}',
      tag,
      summary: 'Delete a booking',
      description: 'Deletes the booking. Its externalBookingId can be used again.',
      params,
      ...deletionParts,
      errorContext,
      handle: ({ params: { id = '' }, header, ...request }) =>
        deleteBooking({ id, ifMatch: header('if-match'), ...sender(request) }),
    }),
    defineEndpoint({
      operationId: 'listUpcomingBookings',
      clientFunction: 'bays.upcomingBookings',
      method: 'GET',
      path: '/api/bays/{id}/upcoming-bookings',
      tag,
      summary: 'Upcoming bookings of one bay',
      description: 'The bookings of the bay that are in progress or in the future, by startDate, then id.',
      params: { id: { description: 'Bay ID.', schema: string, example: 'bay-n1-01' } },
      query: upcomingQuerySchema,
      success: pageSuccess('bookings', bookingListSchema, upcomingListExample(services.config.baseUrl)),
      errorContext,
      handle: ({ params: { id = '' }, query, caller }) => upcoming(id, query, caller),
    }),
  ];
}

/** Returns the caller, and the author of the changes that the request makes. */
function sender({ caller, requestId }: { readonly caller: Caller; readonly requestId: string }) {
  const author: Author = { clientId: caller.clientId, subject: caller.subject, requestId };
  return { caller, author };
}
