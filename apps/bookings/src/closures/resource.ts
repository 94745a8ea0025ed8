// Maps closures to the JSON of responses.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import { contentEtag } from '../http/etag.ts';
import type { ClosureRow } from './closure.ts';

/** The maximum number of bays in a search for bookings. */
const maxBaysOfSearch = 500;

export function closurePath({ id }: { readonly id: string }): string {
  return `/api/booking-closures/${id}`;
}

export function closureResource({ facilityId: _, closedBayIds, ...closure }: ClosureRow, link: MakeLink) {
  const path = closurePath(closure);
  const { startDate, endDate } = closure;
  const hasConflictsLink = closedBayIds.length > 0 && closedBayIds.length <= maxBaysOfSearch;
  const search = writeQueryString({ bayIds: closedBayIds, startDate, endDate });
  return {
    ...closure,
    _links: {
      self: link('GET', path),
      edit: link('PUT', path),
      delete: link('DELETE', path),
      ...(hasConflictsLink && { conflicts: link('GET', `/api/bookings${search}`) }),
    },
  };
}

export function closureEtag(closure: ClosureRow, link: MakeLink): string {
  return contentEtag(closureResource(closure, link));
}

export function closureResponse(status: number, closure: ClosureRow, link: MakeLink): EndpointResponse {
  return { status, body: closureResource(closure, link), headers: { ETag: `"${closureEtag(closure, link)}"` } };
}
