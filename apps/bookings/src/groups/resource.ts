// Derives the JSON and the ETag of a group from its bookings.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { contentHash, tagsToMatch } from '@bay-booking/service/http/etag';
import { bookingResource, etagOf, type NewBooking } from '../bookings/resource.ts';
import { apiError } from '../errors.ts';

export const groupPath = (id: string): string => `/api/booking-groups/${id}`;

export function groupResource(id: string, bookings: readonly NewBooking[], link: MakeLink) {
  const path = groupPath(id);
  return {
    id,
    bookings: bookings.map((booking) => bookingResource(booking, link)),
    _links: { self: link('GET', path), delete: link('DELETE', path) },
  };
}

export function groupResponse(
  status: number,
  id: string,
  bookings: readonly NewBooking[],
  link: MakeLink,
): EndpointResponse {
  return { status, body: groupResource(id, bookings, link), headers: { ETag: `"${groupEtag(bookings)}"` } };
}

/** @throws {ApiError} 412 if the header If-Match does not allow the version of the group */
export function checkIfMatch(ifMatch: string | undefined, bookings: readonly NewBooking[]): void {
  if (tagsToMatch(ifMatch)?.includes(groupEtag(bookings)) === false) throw apiError('ERR00412');
}

/** Changes with every change of a booking of the group. */
export function groupEtag(bookings: readonly NewBooking[]): string {
  return contentHash(
    bookings
      .map((booking) => `${booking.id} ${etagOf(booking)}`)
      .sort()
      .join(),
  );
}
