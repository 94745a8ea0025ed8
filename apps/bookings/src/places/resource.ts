// Maps locations and bays to the JSON of responses (specification, "Booking location" and "Booking bay").
import type { MakeLink } from '@bay-booking/common/links';
import type { BayRow, LocationRow } from './store.ts';

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
