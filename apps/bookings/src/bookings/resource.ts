// How does a booking look on the wire? The only mapping to the specification's "Booking". Pure.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { type Booking, tagOf } from './booking.ts';
import type { ListedBooking } from './search/store.ts';

function fieldsOf(booking: Booking) {
  return {
    id: booking.id,
    ...(booking.externalBookingId !== undefined && { externalBookingId: booking.externalBookingId }),
    ...(booking.correlationId !== undefined && { correlationId: booking.correlationId }),
    bayId: booking.bayId,
    userAlias: booking.userAlias,
    startDate: booking.startDate,
    endDate: booking.endDate,
    createdAt: booking.createdAt,
    lastUpdatedAt: booking.lastUpdatedAt,
  };
}

/** In lists: only self. Written as JSON at once, since pages hold up to a thousand; id and times hold nothing to escape. */
export function bookingItemWriter(link: MakeLink): (row: ListedBooking) => string {
  const href = JSON.stringify(link('GET', '/api/bookings/').href).slice(0, -1);
  const text = JSON.stringify;
  return (row) =>
    `{"id":"${row.id}"` +
    (row.external_booking_id === null ? '' : `,"externalBookingId":${text(row.external_booking_id)}`) +
    (row.correlation_id === null ? '' : `,"correlationId":${text(row.correlation_id)}`) +
    `,"bayId":${text(row.bay_id)},"userAlias":${text(row.user_alias)}` +
    `,"startDate":"${row.start_date}","endDate":"${row.end_date}"` +
    `,"createdAt":"${row.created_at}","lastUpdatedAt":"${row.last_updated_at}"` +
    `,"_links":{"self":{"method":"GET","href":${href}${row.id}"}}}`;
}

export function bookingResource(booking: Booking, link: MakeLink) {
  const path = `/api/bookings/${booking.id}`;
  return {
    ...fieldsOf(booking),
    _links: { self: link('GET', path), edit: link('PUT', path), delete: link('DELETE', path) },
  };
}

/** A single booking as the whole answer, with its entity tag. */
export function bookingResponse(status: number, booking: Booking, link: MakeLink): EndpointResponse {
  return { status, body: bookingResource(booking, link), headers: { ETag: `"${tagOf(booking)}"` } };
}
