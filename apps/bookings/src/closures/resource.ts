// Maps closures to the JSON of responses.
import type { MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import type { ClosureRow } from './closure.ts';

/**
 * The maximum number of bays in a search for bookings. The link `conflicts` leads to a search for the bookings of all
 * closed bays, so a closure with more bays has no such link. A closure of a location without bays has none either.
 */
const maxBaysOfSearch = 500;

/** Leaves out the fields `facilityId` and `closedBayIds`, which only the service uses. */
export function closureResource({ facilityId: _, closedBayIds, ...closure }: ClosureRow, link: MakeLink) {
  const path = `/api/booking-closures/${closure.id}`;
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
