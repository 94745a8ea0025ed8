// Maps locations and bays to the JSON of responses (specification, "Booking location" and "Booking bay").
import type { MakeLink } from '@bay-booking/common/links';
import type { BayRow, LocationRow } from './store.ts';

export function locationResource({ id, name }: LocationRow, link: MakeLink) {
  const segment = encodeURIComponent(id);
  return {
    id,
    name,
    _links: {
      self: link('GET', `/api/booking-locations/${segment}`),
      bays: link('GET', `/api/booking-bays?locationId=${segment}`),
    },
  };
}

export function bayResource({ id, name, description, kind, location_id, location_name }: BayRow) {
  return { id, name, description, kind, location: { id: location_id, name: location_name }, _links: {} };
}
