// Defines a booking's types and derives its JSON and ETag (specification, "Booking").
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { tagsToMatch } from '@bay-booking/service/http/etag';
import type { BookingState } from '../changes/log.ts';
import { apiError } from '../errors.ts';
import {
  type Booking,
  type Metadata,
  optionalFields,
  type PublicField,
  pick,
  publicFields,
  type UpdateField,
} from './storage/columns.ts';

export type { Booking } from './storage/columns.ts';

/** A booking as clients see it, apart from its links. */
export type PublicBooking = Pick<Booking, PublicField>;

/** A booking that is not stored yet. Its location is its bay's location. */
export type NewBooking = Omit<Booking, 'locationId'>;

/** Values of fields that an update replaces. `metadata` is undefined if it stays unchanged. */
export type BookingChange = Pick<Booking, Exclude<UpdateField, 'metadata'>> & {
  readonly metadata: Metadata | null | undefined;
};

/** Returns null if the metadata is empty, undefined if the request has no metadata. */
export function metadataOf({ metadata }: { readonly metadata?: Metadata | null }): Metadata | null | undefined {
  return metadata && Object.keys(metadata).length === 0 ? null : metadata;
}

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

export function bookingPath({ id }: Pick<NewBooking, 'id'>): string {
  return `/api/bookings/${id}`;
}

/** Returns a booking as a list item, which has only the link `self`. */
export function bookingItem(booking: PublicBooking, link: MakeLink) {
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

function toJson<Links>(booking: PublicBooking, _links: Links) {
  const json = { ...booking, _links };
  // Turns null into undefined, which JSON.stringify leaves out.
  for (const field of optionalFields) (json as Record<string, unknown>)[field] ??= undefined;
  return json;
}
