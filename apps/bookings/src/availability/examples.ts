// Creates the example response of the availability endpoint for the OpenAPI document, with a bay of the demo.
import type { MakeLink } from '@bay-booking/common/links';
import { defaultPageSizes } from '../http/pagination.ts';
import { availabilityResponse, bayAvailability } from './resource.ts';

const bay = {
  id: 'bay-n1-01',
  name: 'Bay 1',
  bookable: true,
  locationId: 'loc-north-1',
  locationName: 'North Range, ground floor',
  facilityId: 'fac-north',
  timeZone: 'Europe/Copenhagen',
};
/** A time when the bay is free. */
const gap = { start: Date.parse('2030-05-01T08:00:00.000Z'), end: Date.parse('2030-05-01T10:30:00.000Z') };

export function availabilityExample(link: MakeLink) {
  const page = { items: [bayAvailability(bay, [gap])], asOf: '2026-11-30T19:02:11.123Z', total: 1 };
  const request = { query: { bayIds: [bay.id] }, page: { page: 1, pageSize: defaultPageSizes.availability } };
  return availabilityResponse(page, request, link).body;
}
