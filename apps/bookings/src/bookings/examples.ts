// Creates the examples of bookings for the OpenAPI document. They use the locations and bays of the demo.
import { defaultPageSizes } from '../http/pagination.ts';

export const createExample = {
  externalBookingId: 'web-2026-000042',
  correlationId: 'session-7',
  bayId: 'bay-n1-01',
  userAlias: 'Ann',
  startDate: '2030-05-01T09:00:00.000Z',
  endDate: '2030-05-01T10:00:00.000Z',
};

export const updateExample = {
  bayId: 'bay-n1-02',
  userAlias: 'Ann',
  startDate: '2030-05-01T10:00:00.000Z',
  endDate: '2030-05-01T11:00:00.000Z',
};

export const exampleId = '019d1c3e-7c00-7a1b-8c2d-3e4f5a6b3c1d';

export function bookingExample(baseUrl: string) {
  const href = `${baseUrl}/api/bookings/${exampleId}`;
  return {
    id: exampleId,
    ...createExample,
    createdAt: '2026-04-30T18:21:07.123Z',
    lastUpdatedAt: '2026-04-30T18:21:07.123Z',
    _links: { self: { method: 'GET', href }, edit: { method: 'PUT', href }, delete: { method: 'DELETE', href } },
  };
}

export const bookingListExample = (baseUrl: string) =>
  listExample(baseUrl, '/api/bookings?bayIds=bay-n1-01&', defaultPageSizes.bookings);

export const upcomingListExample = (baseUrl: string) =>
  listExample(baseUrl, '/api/bays/bay-n1-01/upcoming-bookings?', defaultPageSizes.upcomingBookings);

/** `path` ends with `?` or `&`, because the parameters of the page are appended to it. */
function listExample(baseUrl: string, path: string, pageSize: number) {
  const booking = bookingExample(baseUrl);
  const page = { method: 'GET', href: `${baseUrl}${path}page=1&pageSize=${pageSize}` };
  return {
    items: [{ ...booking, _links: { self: booking._links.self } }],
    _links: { self: page, first: page, last: page },
    page: 1,
    pageSize,
    pageCount: 1,
    total: 1,
  };
}
