// Defines the JSON Schemas of bookings and booking requests. They validate requests and are part of the OpenAPI
// document (specification, "Booking").
import { linksSchema } from '@bay-booking/common/links';
import { anyFormat, textSchema } from '@bay-booking/common/text';
import { defaultPageSizes, listQuerySchema, listSchema } from '../http/pagination.ts';
import { dateTimeSchema as dateTime, editLinksSchema, responseSchema } from '../http/schemas.ts';
import { optionalFields } from './storage/columns.ts';

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
