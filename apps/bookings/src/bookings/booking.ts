// Defines what a booking is from a request to the log of changes, and derives its JSON and ETag (specification,
// "Booking"). The stored booking is in storage/columns.ts, its state in the log in changes/log.ts.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import type { ValidationError } from '@bay-booking/common/validation';
import { tagsToMatch } from '@bay-booking/service/http/etag';
import type { Reservation } from '../availability/reservation.ts';
import type { BookingState } from '../changes/log.ts';
import { apiError } from '../errors.ts';
import type { Hold } from '../holds/hold.ts';
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

export function bookingPath({ id }: Pick<Booking, 'id'>): string {
  return `/api/bookings/${id}`;
}

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
