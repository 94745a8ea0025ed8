// Defines the JSON Schemas of bookings and booking requests with their examples. They validate requests and are part of
// the OpenAPI document (specification, "Booking").
import { linksSchema, type MakeLink } from '@bay-booking/common/links';
import { anyFormat, textSchema } from '@bay-booking/common/text';
import { defaultPageSizes, listExample, listQuerySchema, listSchema } from '../http/pagination.ts';
import { dateTimeSchema as dateTime, editLinksSchema, responseSchema } from '../http/schemas.ts';
import { bookingItem, bookingResource, type NewBooking } from './booking.ts';
import { optionalFields, pick, publicFields } from './storage/columns.ts';

const externalBookingId = { ...textSchema, description: 'Reference owned by the client; unique over the service.' };
const correlationId = { ...textSchema, description: 'Groups bookings of one user session.' };

export const metadataSchema = {
  type: 'object',
  maxProperties: 20,
  propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,40}$' },
  // PostgreSQL cannot store NUL and lone surrogates.
  additionalProperties: { type: 'string', maxLength: 500, format: 'note' },
} as const;

const updateFields = {
  // The schema allows every string: a string that cannot be an id gets ERR00012, like any other id that does not exist.
  bayId: { type: 'string', format: anyFormat, description: 'Bay to book.' },
  userAlias: { ...textSchema, description: 'Alias of the user who makes the booking.' },
  startDate: { ...dateTime, description: 'Start, in UTC unless it has a zone; digits beyond milliseconds are cut.' },
  endDate: { ...dateTime, description: 'End, not before the start and not in the past.' },
  metadata: {
    ...metadataSchema,
    type: ['object', 'null'],
    description: 'Fields of your own, 20 at most. A PUT without it keeps the fields; null or {} removes them.',
  },
} as const;

const holdId = { ...textSchema, description: 'A hold of the client, which the booking uses up.' };

export const createBookingSchema = {
  type: 'object',
  required: ['bayId', 'userAlias', 'startDate', 'endDate'],
  properties: {
    externalBookingId,
    correlationId,
    ...updateFields,
    holdId,
  },
} as const;

export const updateBookingSchema = { ...createBookingSchema, properties: { ...updateFields, holdId } } as const;

const bookingFields = {
  id: { type: 'string', format: 'uuid', description: 'Booking ID assigned by the service.' },
  externalBookingId: { ...externalBookingId, description: 'Left out where the client gave none.' },
  correlationId: { ...correlationId, description: 'Left out where the client gave none.' },
  groupId: { type: 'string', format: 'uuid', description: 'The group that the booking was created in, if any.' },
  bayId: { type: 'string', description: 'ID of the booked bay.' },
  userAlias: { type: 'string', description: 'Alias of the user who makes the booking.' },
  startDate: { ...dateTime, description: 'Start, UTC.' },
  endDate: { ...dateTime, description: 'End, UTC.' },
  metadata: { ...metadataSchema, description: "The client's own fields. Left out where there are none." },
  createdAt: { ...dateTime, description: 'Creation timestamp, UTC.' },
  lastUpdatedAt: { ...dateTime, description: 'Last modification timestamp, UTC.' },
} as const;

export const bookingSchema = responseSchema({ ...bookingFields, _links: editLinksSchema }, optionalFields);

/** A booking in a list. Its only link is `self`. */
export const bookingItemSchema = responseSchema({ ...bookingFields, _links: linksSchema('self') }, optionalFields);

export const bookingListSchema = listSchema(bookingItemSchema);

/** The body of a search. The specification says that a search can have endDate in its body. */
export const searchBodySchema = {
  type: 'object',
  properties: {
    startDate: { ...dateTime, description: 'Read if the query has no startDate.' },
    endDate: { ...dateTime, description: 'Read if the query has no endDate.' },
  },
} as const;

export const upcomingQuerySchema = listQuerySchema(
  {
    todayOnly: {
      type: 'boolean',
      description: "true: only bookings of the current day in the time zone of the bay's facility.",
    },
  },
  defaultPageSizes.upcomingBookings,
);

/** The schemas that are components of the OpenAPI document, by their name in the document. */
export const bookingComponents = {
  Booking: bookingSchema,
  BookingItem: bookingItemSchema,
  BookingList: bookingListSchema,
  CreateBooking: createBookingSchema,
  UpdateBooking: updateBookingSchema,
  SearchBody: searchBodySchema,
} as const;

// The examples use the locations and bays of the demo.

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
