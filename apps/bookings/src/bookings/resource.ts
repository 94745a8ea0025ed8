// How does a booking look on the wire? The only mapping to the specification's "Booking". Pure.
import type { Answer } from '@bay-booking/common/endpoint';
import type { Link } from '@bay-booking/common/links';
import { type Booking, tagOf } from './booking.ts';

type MakeLink = (method: string, path: string) => Link;

function fieldsOf(booking: Booking) {
  return {
    id: booking.id,
    ...(booking.externalBookingId !== undefined && { externalBookingId: booking.externalBookingId }),
    ...(booking.correlationId !== undefined && { correlationId: booking.correlationId }),
    bayId: booking.bayId,
    userAlias: booking.userAlias,
    startDate: booking.startDate.toISOString(),
    endDate: booking.endDate.toISOString(),
    createdAt: booking.createdAt.toISOString(),
    lastUpdatedAt: booking.lastUpdatedAt.toISOString(),
  };
}

/** In lists: only self. */
export function bookingItem(booking: Booking, link: MakeLink) {
  return { ...fieldsOf(booking), _links: { self: link('GET', `/api/bookings/${booking.id}`) } };
}

export function bookingResource(booking: Booking, link: MakeLink) {
  const path = `/api/bookings/${booking.id}`;
  return {
    ...fieldsOf(booking),
    _links: { self: link('GET', path), edit: link('PUT', path), delete: link('DELETE', path) },
  };
}

/** A single booking as the whole answer, with its entity tag. */
export function bookingAnswer(status: number, booking: Booking, link: MakeLink): Answer {
  return { status, body: bookingResource(booking, link), headers: { ETag: `"${tagOf(booking)}"` } };
}
