// Defines the JSON Schemas of closures and of the requests for closures.
import { linkSchema } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import { defaultPageSizes, listQuerySchema, listSchema } from '../http/pagination.ts';
import { dateTimeSchema as dateTime, editLinksSchema, idsSchema, responseSchema } from '../http/schemas.ts';

// The validation treats a field whose value is null as missing, so the schemas of `bayIds` and `locationId` do not
// mention null.
export const closureBodySchema = {
  type: 'object',
  required: ['startDate', 'endDate'],
  properties: {
    bayIds: idsSchema('The closed bays, of one facility. Null or left out if locationId is given.'),
    locationId: { ...textSchema, description: 'The location whose bays are all closed. Null or left out otherwise.' },
    startDate: { ...dateTime, description: 'Start, with a zone. It may be in the past.' },
    endDate: { ...dateTime, description: 'End, after the start.' },
    reason: { ...textSchema, description: 'Is returned to clients whose booking is refused.' },
  },
} as const;

export const closureSchema = responseSchema({
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

export const closureListSchema = listSchema(closureSchema);

export const closureQuerySchema = listQuerySchema(
  {
    locationIds: idsSchema('Locations. Also finds closures of single bays there.'),
    bayIds: idsSchema('Bays. Also finds closures of their locations.'),
    startDate: { ...dateTime, description: 'Selects closures that overlap the interval, with endDate.' },
    endDate: { ...dateTime, description: 'See startDate. One date alone leaves the interval open at the other end.' },
  },
  defaultPageSizes.closures,
);

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const closureComponents = {
  Closure: closureSchema,
  ClosureList: closureListSchema,
  ClosureBody: closureBodySchema,
} as const;
