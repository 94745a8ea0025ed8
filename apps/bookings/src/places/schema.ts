// Defines the JSON Schemas of locations and bays, and of the query parameters of their lists.
import { named, namedSchema } from '@bay-booking/common/endpoint';
import { linksSchema } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import { defaultPageSizes, listQuerySchema, listSchema } from '../http/pagination.ts';
import { idsSchema, noLinksSchema, responseSchema } from '../http/schemas.ts';
import { changeableFields } from './record.ts';

export const updateBaySchema = named('UpdateBay', {
  type: 'object',
  required: ['name', 'description', 'bookable'],
  properties: changeableFields,
} as const);

export const locationSchema = namedSchema('BookingLocation', {
  id: { ...textSchema, description: 'Location ID.' },
  name: { type: 'string', description: 'Location name.' },
  facilityId: { type: 'string', description: 'The facility of the location.' },
  timeZone: { type: 'string', description: 'The IANA time zone of the facility.' },
  _links: linksSchema('self', 'bays'),
});

export const baySchema = namedSchema('BookingBay', {
  id: { ...textSchema, description: 'Bay ID.' },
  name: { type: 'string', description: 'Bay name.' },
  description: { type: 'string', description: 'Bay description.' },
  kind: { type: 'string', description: 'The kind of the bays, for example RangeBay.' },
  bookable: { type: 'boolean', description: 'Whether the bay can be booked at all.' },
  locationId: { type: 'string', description: 'The owning location.' },
  location: {
    ...responseSchema({ id: { type: 'string' }, name: { type: 'string' } }),
    description: 'The owning location.',
  },
  _links: noLinksSchema,
});

export const locationListSchema = named('BookingLocationList', listSchema(locationSchema));
export const bayListSchema = named('BookingBayList', listSchema(baySchema));

export const locationQuerySchema = listQuerySchema(
  { ids: idsSchema('Location IDs.'), facilityIds: idsSchema('Facility IDs.') },
  defaultPageSizes.locations,
);

export const bayQuerySchema = listQuerySchema(
  { locationId: { ...textSchema, description: "The location ID; without it, every bay of the token's facilities." } },
  defaultPageSizes.bays,
);
