// Describes the endpoints of the history. Their handlers are in list.ts.
import { actorExample, defineEndpoint, pageSuccess, string } from '../../http/endpoint-parts.ts';
import { defaultPageSizes, listExample } from '../../http/pagination.ts';
import { type HistoryServices, listBookingHistory, listHistory } from './list.ts';
import { bookingHistoryQuerySchema, bookingHistorySchema, historyQuerySchema, historySchema } from './schema.ts';

const tag = 'Bookings';

export interface HistoryEndpointServices extends HistoryServices {
  readonly bookingExample: { readonly id: string };
}

export function createHistoryEndpoints(services: HistoryEndpointServices) {
  const { link, bookingExample } = services;
  const { id } = bookingExample;
  const entry = {
    version: 2,
    action: 'updated',
    at: '2026-05-01T07:12:44.018Z',
    actor: actorExample,
    requestId: '0b0f9f0e-5d5c-4a39-8c65-0f3b1f6a7c11',
    changes: { bayId: { from: 'bay-n1-01', to: 'bay-n1-02' } },
  };
  const example = (path: string, query: object, item: object) =>
    listExample(path, { ...query }, defaultPageSizes.history, item, link);
  const facilityQuery = { facilityId: 'fac-north', bayIds: ['bay-n1-01'] };

  return [
    defineEndpoint({
      operationId: 'getBookingHistory',
      method: 'GET',
      access: 'read',
      path: '/api/bookings/{id}/history',
      tag,
      summary: 'History of one booking',
      description:
        "Every change of the booking at the token's facilities, oldest first, also after its deletion. A booking that " +
        'moved to another facility is deleted in the old one and created in the new one.',
      params: { id: { description: 'Booking ID.', schema: string, example: id } },
      query: bookingHistoryQuerySchema,
      success: pageSuccess('changes', bookingHistorySchema, example(`/api/bookings/${id}/history`, {}, entry)),
      handle: (request) => listBookingHistory(services, request),
    }),
    defineEndpoint({
      operationId: 'listHistory',
      method: 'GET',
      access: 'read',
      path: '/api/booking-history',
      tag,
      summary: 'History of a facility',
      description:
        'The changes of all bookings of a facility that match every filter, newest first, with deleted and moved bookings.',
      query: historyQuerySchema,
      queryExamples: facilityQuery,
      success: pageSuccess(
        'changes',
        historySchema,
        example('/api/booking-history', facilityQuery, { bookingId: id, facilityId: 'fac-north', ...entry }),
      ),
      // The handler reports a facilityId that is missing or that the token does not name together with other errors.
      handlesValidationErrors: true,
      handle: (request) => listHistory(services, request),
    }),
  ];
}
