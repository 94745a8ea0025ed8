// Creates the examples of bookings for the OpenAPI document. They use the locations and bays of the demo.
import type { MakeLink } from '@bay-booking/common/links';
import { defaultPageSizes, listExample } from '../http/pagination.ts';
import { bookingItem, bookingResource, type NewBooking } from './resource.ts';
import { pick, publicFields } from './storage/columns.ts';

export const createExample = {
  externalBookingId: 'web-2026-000042',
  correlationId: 'session-7',
  bayId: 'bay-n1-01',
  userAlias: 'Ann',
  startDate: '2030-05-01T09:00:00.000Z',
  endDate: '2030-05-01T10:00:00.000Z',
  metadata: { players: '4' },
};

export const updateExample = {
  bayId: 'bay-n1-02',
  userAlias: 'Ann',
  startDate: '2030-05-01T10:00:00.000Z',
  endDate: '2030-05-01T11:00:00.000Z',
};

export const exampleId = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1d';

export const newBookingExample: NewBooking = {
  facilityId: 'fac-north',
  id: exampleId,
  ...createExample,
  groupId: null,
  createdAt: '2026-04-30T18:21:07.123Z',
  lastUpdatedAt: '2026-04-30T18:21:07.123Z',
  version: 1,
};

export const bookingExample = (link: MakeLink) => bookingResource(newBookingExample, link);
export const bookingItemExample = (link: MakeLink) => bookingItem(pick(publicFields, newBookingExample), link);

export function bookingListExample(link: MakeLink) {
  const query = { bayIds: [newBookingExample.bayId] };
  return listExample('/api/bookings', query, defaultPageSizes.bookings, bookingItemExample(link), link);
}

export function upcomingListExample(link: MakeLink) {
  const path = `/api/bays/${newBookingExample.bayId}/upcoming-bookings`;
  return listExample(path, {}, defaultPageSizes.upcomingBookings, bookingItemExample(link), link);
}
