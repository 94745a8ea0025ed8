// Creates the examples of closures for the OpenAPI document. They use the locations and bays of the demo.
import type { MakeLink } from '@bay-booking/common/links';
import { defaultPageSizes, listResponse } from '../http/pagination.ts';
import type { ClosureRow } from './closure.ts';
import { closureResource } from './resource.ts';

export const closureBodyExample = {
  bayIds: ['bay-n1-01'],
  startDate: '2030-05-02T06:00:00.000Z',
  endDate: '2030-05-02T12:00:00.000Z',
  reason: 'Maintenance',
};

export const closureExample: ClosureRow = {
  facilityId: 'fac-north',
  id: '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1d',
  ...closureBodyExample,
  locationId: null,
  createdAt: '2026-04-30T18:21:07.123Z',
  lastUpdatedAt: '2026-04-30T18:21:07.123Z',
  closedBayIds: ['bay-n1-01'],
};

export const closureQueryExample = { locationIds: ['loc-north-1'] };

export function closureListExample(link: MakeLink) {
  const page = { page: 1, pageSize: defaultPageSizes.closures };
  const request = { path: '/api/booking-closures', query: closureQueryExample, page };
  return listResponse(request, [closureResource(closureExample, link)], 1, link).body;
}
