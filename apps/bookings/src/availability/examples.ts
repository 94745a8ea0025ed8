// Creates the example of availability for the OpenAPI document. It uses the locations and bays of the demo.
import type { MakeLink } from '@bay-booking/common/links';
import { defaultPageSizes } from '../http/pagination.ts';

export function availabilityExample(link: MakeLink) {
  const pageSize = defaultPageSizes.availability;
  const page = link('GET', `/api/booking-availability?bayIds=bay-n1-01&page=1&pageSize=${pageSize}`);
  return {
    items: [
      {
        bay: { id: 'bay-n1-01', name: 'Bay 1', bookable: true },
        location: {
          id: 'loc-north-1',
          name: 'North Range, ground floor',
          facilityId: 'fac-north',
          timeZone: 'Europe/Copenhagen',
        },
        free: [{ startDate: '2030-05-01T08:00:00.000Z', endDate: '2030-05-01T10:30:00.000Z' }],
        _links: {},
      },
    ],
    asOf: '2026-11-30T19:02:11.123Z',
    _links: { self: page, first: page, last: page },
    page: 1,
    pageSize,
    pageCount: 1,
    total: 1,
  };
}
