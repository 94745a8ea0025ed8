// Defines what a booking is in requests and responses: its JSON Schemas, which validate requests and are part of the
// OpenAPI document, its types, its JSON and its ETag (specification, "Booking"). The stored booking is in
// storage/columns.ts, its state in the log in changes/log.ts.
import { type EndpointResponse, named, namedSchema } from '@bay-booking/common/endpoint';
import { linksSchema, type MakeLink } from '@bay-booking/common/links';
import { textSchema } from '@bay-booking/common/text';
import type { ValidationError } from '@bay-booking/common/validation';
import { tagsToMatch } from '@bay-booking/service/http/etag';
import type { Reservation } from '../availability/reservation.ts';
import type { BookingState } from '../changes/log.ts';
import { apiError } from '../errors.ts';
import type { Hold } from '../holds/hold.ts';
import { bayIdSchema, dateTimeSchema as dateTime, editLinksSchema } from '../http/endpoint-parts.ts';
import { defaultPageSizes, listQuerySchema, listSchema } from '../http/pagination.ts';
import {
  type Booking,
  type CreateField,
  type Metadata,
  optionalFields,
  type PublicField,
  pick,
  publicFields,
  type UpdateField,
} from './storage/columns.ts';

export type { Booking } from './storage/columns.ts';

/** A booking in a request: a new one, or one to change. */
export interface BookingRequest {
  /** Undefined for a new booking. */
  readonly id?: string;
  /** The booking to change. Undefined if it was not read, or if the group does not have it. */
  readonly current?: Booking | undefined;
  /** The valid fields. */
  readonly body: { readonly [F in CreateField]?: Booking[F] } & { readonly holdId?: string };
  readonly errors: readonly ValidationError[];
  /** The position in the request for a group. */
  readonly index?: number;
}

/** The booking of a request after its validation (drafts.ts). */
export interface Draft extends BookingRequest, Reservation {
  readonly hold: Hold | undefined;
}

/** A booking that is not stored yet. Its location is its bay's location. */
export type NewBooking = Omit<Booking, 'locationId'>;

/** The new values of a stored booking. `metadata` is undefined if it stays unchanged. */
export type BookingUpdate = Pick<Booking, 'id' | Exclude<UpdateField, 'metadata'>> & {
  readonly metadata: Metadata | null | undefined;
};

/** Returns the ETag without quotes. */
export function etagOf({ version, lastUpdatedAt }: Pick<Booking, 'version' | 'lastUpdatedAt'>): string {
  return `${version}-${Date.parse(lastUpdatedAt)}`;
}

/** @throws {ApiError} 412 if If-Match does not allow the booking's version */
export function checkIfMatch(ifMatch: string | undefined, booking: Booking): void {
  const etags = tagsToMatch(ifMatch);
  if (etags && !etags.includes(etagOf(booking))) throw apiError('ERR00412', { context: errorContextOf(booking) });
}

/** The external booking id is `''` if the booking has none. */
export function errorContextOf({ externalBookingId }: { readonly externalBookingId?: string | null }) {
  return { externalBookingId: externalBookingId ?? '' };
}

export const bookingPath = ({ id }: Pick<Booking, 'id'>): string => `/api/bookings/${id}`;

/** Returns a booking as a list item, which has only the link `self`. */
export function bookingItem(booking: Pick<Booking, PublicField>, link: MakeLink) {
  return toJson(booking, { self: link('GET', bookingPath(booking)) });
}

/** Returns a function that converts a state in the log of changes to a list item. */
export function createStateItem(link: MakeLink): (state: BookingState) => object {
  return (state) => bookingItem(pick(publicFields, state), link);
}

export function bookingResource(booking: NewBooking, link: MakeLink) {
  const path = bookingPath(booking);
  return toJson(pick(publicFields, booking), {
    self: link('GET', path),
    edit: link('PUT', path),
    delete: link('DELETE', path),
  });
}

export function bookingResponse(status: number, booking: NewBooking, link: MakeLink): EndpointResponse {
  return { status, body: bookingResource(booking, link), headers: { ETag: `"${etagOf(booking)}"` } };
}

function toJson<Links>(booking: Pick<Booking, PublicField>, _links: Links) {
  const json = { ...booking, _links };
  // Turns null into undefined, which JSON.stringify leaves out.
  for (const field of optionalFields) (json as Record<string, unknown>)[field] ??= undefined;
  return json;
}

const externalBookingId = { ...textSchema, description: 'Reference owned by the client; unique over the service.' };
const correlationId = { ...textSchema, description: 'Groups bookings of one user session.' };

export const metadataSchema = {
  type: 'object',
  maxProperties: 20,
  propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,40}$' },
  // PostgreSQL cannot store NUL and lone surrogates.
  additionalProperties: { type: 'string', maxLength: 500, format: 'note' },
} as const;

const changeableFields = {
  bayId: { ...bayIdSchema, description: 'Bay to book.' },
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
  title: 'CreateBooking',
  type: 'object',
  required: ['bayId', 'userAlias', 'startDate', 'endDate'],
  properties: {
    externalBookingId,
    correlationId,
    ...changeableFields,
    holdId,
  },
} as const;

export const updateBookingSchema = {
  ...createBookingSchema,
  title: 'UpdateBooking',
  properties: { ...changeableFields, holdId },
} as const;

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

export const bookingSchema = namedSchema('Booking', { ...bookingFields, _links: editLinksSchema }, optionalFields);

/** A booking in a list. Its only link is `self`. */
export const bookingItemSchema = namedSchema(
  'BookingItem',
  { ...bookingFields, _links: linksSchema('self') },
  optionalFields,
);

export const bookingListSchema = named('BookingList', listSchema(bookingItemSchema));

/** The body of a search. The specification says that a search can have endDate in its body. */
export const searchBodySchema = {
  title: 'SearchBody',
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
