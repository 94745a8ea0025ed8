// Maps locations and bays to the JSON of responses (specification, "Booking location" and "Booking bay").
import type { MakeLink } from '@bay-booking/common/links';
import type { BayRow, LocationRow } from './store.ts';

export function locationResource({ id, name }: LocationRow, link: MakeLink) {
  const encodedId = encodeURIComponent(id);
  return {
    id,
    name,
    _links: {
      self: link('GET', `/api/booking-locations/${encodedId}`),
      bays: link('GET', `/api/booking-bays?locationId=${encodedId}`),
    },
  };
}

/** The specification requires an empty `_links` for a bay. */
export function bayResource({ id, name, description, kind, location_id, location_name }: BayRow) {
  return { id, name, description, kind, location: { id: location_id, name: location_name }, _links: {} };
}
