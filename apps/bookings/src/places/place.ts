// Defines what locations and bays are in responses: their JSON Schemas, those of the queries of their lists, and their
// JSON (specification, "Booking location" and "Booking bay").
import { named, namedSchema, responseSchema } from '@bay-booking/common/endpoint';
import { linksSchema, type MakeLink } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import { idsSchema, noLinksSchema } from '../http/endpoint-parts.ts';
import { defaultPageSizes, listQuerySchema, listSchema } from '../http/pagination.ts';
import { changeableFields } from './record.ts';
import type { BayRow, LocationRow } from './store.ts';

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

export function locationResource({ id, name, facilityId, timeZone }: LocationRow, link: MakeLink) {
  const encodedId = encodeURIComponent(id);
  return {
    id,
    name,
    facilityId,
    timeZone,
    _links: {
      self: link('GET', `/api/booking-locations/${encodedId}`),
      bays: link('GET', `/api/booking-bays?locationId=${encodedId}`),
    },
  };
}

/** The bay of the examples in the OpenAPI document: a bay of the demo. */
export const bayExample: BayRow = {
  id: 'bay-n1-01',
  name: 'Bay 1',
  description: 'Bay 1 on the ground floor.',
  kind: 'RangeBay',
  bookable: true,
  locationId: 'loc-north-1',
  locationName: 'North Range, ground floor',
  facilityId: 'fac-north',
  timeZone: 'Europe/Copenhagen',
};

/** The specification requires an empty `_links` for a bay. */
export function bayResource({ id, name, description, kind, bookable, locationId, locationName }: BayRow) {
  const location = { id: locationId, name: locationName };
  return { id, name, description, kind, bookable, locationId, location, _links: {} };
}
