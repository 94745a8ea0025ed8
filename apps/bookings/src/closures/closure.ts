// Defines closures, times when some bays or all bays of a location cannot be booked, with their JSON and its schemas.
import { named, namedSchema } from '@bay-booking/common/endpoint';
import { linkSchema, type MakeLink } from '@bay-booking/common/links';
import { writeQueryString } from '@bay-booking/common/query-string';
import { textSchema } from '@bay-booking/common/text';
import type { FromSchema } from 'json-schema-to-ts';
import { dateTimeSchema as dateTime, editLinksSchema, idsSchema } from '../http/endpoint-parts.ts';
import { listQuerySchema, listSchema } from '../http/pagination.ts';

/** Times are UTC with milliseconds, in the format of responses. Either `bayIds` or `locationId` is null. */
export interface Closure extends Omit<Readonly<FromSchema<typeof closureSchema>>, '_links'> {
  readonly facilityId: string;
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

// The validation treats a field whose value is null as missing, so the schemas of `bayIds` and `locationId` do not
// mention null.
export const closureBodySchema = {
  title: 'ClosureBody',
  type: 'object',
  required: ['startDate', 'endDate'],
  properties: {
    bayIds: idsSchema('The closed bays, of one facility. Null or left out if locationId is given.'),
    locationId: { ...textSchema, description: 'The location whose bays are all closed. Null or left out otherwise.' },
    startDate: { ...dateTime, description: 'Start, with a zone. It may be in the past.' },
    endDate: { ...dateTime, description: 'End, after the start.' },
    reason: { ...textSchema, description: 'Is returned to clients whose booking is rejected.' },
  },
} as const;

export const closureSchema = namedSchema('Closure', {
  id: { type: 'string', format: 'uuid', description: 'Closure ID.' },
  bayIds: { type: ['array', 'null'], items: { type: 'string' }, description: 'The closed bays.' },
  locationId: { type: ['string', 'null'], description: 'The location whose bays are all closed.' },
  startDate: { ...dateTime, description: 'Start, UTC.' },
  endDate: { ...dateTime, description: 'End, UTC.' },
  reason: { type: ['string', 'null'], description: 'Why the bays are closed.' },
  createdAt: { ...dateTime, description: 'Creation timestamp, UTC.' },
  lastUpdatedAt: { ...dateTime, description: 'Last modification timestamp, UTC.' },
  _links: {
    ...editLinksSchema,
    properties: {
      ...editLinksSchema.properties,
      conflicts: linkSchema,
    },
    description: 'conflicts is a search for the bookings in the way; left out above 500 bays.',
  },
});

export const closureListSchema = named('ClosureList', listSchema(closureSchema));

export const closureQuerySchema = listQuerySchema({
  locationIds: idsSchema('Locations. Also finds closures of single bays there.'),
  bayIds: idsSchema('Bays. Also finds closures of their locations.'),
  startDate: { ...dateTime, description: 'Selects closures that overlap the interval, with endDate.' },
  endDate: { ...dateTime, description: 'See startDate. One date alone leaves the interval open at the other end.' },
});
