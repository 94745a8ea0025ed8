// Creates the examples of locations and bays for the OpenAPI document, with the ids and names of the demo.
import type { MakeLink } from '@bay-booking/common/links';
import { defaultPageSizes, listResponse } from '../http/pagination.ts';
import { bayResource, locationResource } from './resource.ts';

export const locationQueryExample = { ids: ['loc-north-1'], facilityIds: ['fac-north'] };
export const bayQueryExample = { locationId: 'loc-north-1' };

export function locationExample(link: MakeLink) {
  return locationResource({ id: 'loc-north-1', name: 'North Range, ground floor' }, link);
}

export function locationListExample(link: MakeLink) {
  const page = { page: 1, pageSize: defaultPageSizes.locations };
  const request = { path: '/api/booking-locations', query: locationQueryExample, page };
  return listResponse(request, [locationExample(link)], 1, link).body;
}

export function bayListExample(link: MakeLink) {
  const bay = bayResource({
    id: 'bay-n1-01',
    name: 'Bay 1',
    description: 'Bay 1 on the ground floor.',
    kind: 'RangeBay',
    location_id: 'loc-north-1',
    location_name: 'North Range, ground floor',
  });
  const page = { page: 1, pageSize: defaultPageSizes.bays };
  return listResponse({ path: '/api/booking-bays', query: bayQueryExample, page }, [bay], 1, link).body;
}
