// Defines closures, times when some bays or all bays of a location cannot be booked, and maps them to the JSON of
// responses.
import type { MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';

/** Times are UTC with milliseconds, in the format of responses. Either `bayIds` or `locationId` is null. */
export interface Closure {
  readonly facilityId: string;
  readonly id: string;
  readonly bayIds: readonly string[] | null;
  readonly locationId: string | null;
  readonly startDate: string;
  readonly endDate: string;
  readonly reason: string | null;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

export interface ClosureRow extends Closure {
  /** The ids of all bays that the closure closes, even if it closes a whole location. */
  readonly closedBayIds: readonly string[];
}

/** The maximum number of bays in the search that the link `conflicts` leads to. */
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
