// Maps a booking to the JSON of responses (specification, "Booking").
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { BookingState } from '../changes/log.ts';
import { etagOf, type NewBooking, type PublicBooking } from './booking.ts';
import { optionalFields, pick, publicFields } from './storage/columns.ts';

export function bookingPath({ id }: Pick<NewBooking, 'id'>): string {
  return `/api/bookings/${id}`;
}

/** Returns a booking as an item of a list. Items have only the link `self`. */
export function bookingItem(booking: PublicBooking, link: MakeLink) {
  return toJson(booking, { self: link('GET', bookingPath(booking)) });
}

/** Returns the function that turns a state in the log of changes into an item of a list. */
export function createStateItem(link: MakeLink): (state: BookingState) => object {
  return (state) => bookingItem(pick(publicFields, state), link);
}

export function bookingResource(booking: NewBooking, link: MakeLink) {
  const path = bookingPath(booking);
  return toJson(pick(publicFields, booking), {
    self: link('GET', path),
    edit: link('PUT', path),
    delete: link('DELETE', path),
  });
}

export function bookingResponse(status: number, booking: NewBooking, link: MakeLink): EndpointResponse {
  return { status, body: bookingResource(booking, link), headers: { ETag: `"${etagOf(booking)}"` } };
}

function toJson<Links>(booking: PublicBooking, _links: Links) {
  const json = { ...booking, _links };
  // Turns null into undefined, which JSON.stringify leaves out.
  for (const field of optionalFields) (json as Record<string, unknown>)[field] ??= undefined;
  return json;
}
