// Derives the types of a booking and of its parts from the fields in storage/columns.ts, and checks the ETag of a
// booking.
import { apiError } from '../errors.ts';
import { tagsToMatch } from '../http/etag.ts';
import type { Booking, PublicField, UpdateField } from './storage/columns.ts';

export type { Booking } from './storage/columns.ts';

/** A booking as clients see it, apart from its links. */
export type PublicBooking = Pick<Booking, PublicField>;

/** A booking that is not stored yet. Its location is that of the bay. */
export type NewBooking = Omit<Booking, 'locationId'>;

/** The values of the fields that an update replaces. */
export type BookingChange = Pick<Booking, UpdateField>;

/** The ETag of a booking, without quotes. */
export function etagOf({ version, lastUpdatedAt }: Pick<Booking, 'version' | 'lastUpdatedAt'>): string {
  return `${version}-${Date.parse(lastUpdatedAt)}`;
}

/** @throws {ApiError} 412 if the header If-Match does not allow the version of the booking */
export function checkIfMatch(ifMatch: string | undefined, booking: Booking): void {
  const etags = tagsToMatch(ifMatch);
  if (etags && !etags.includes(etagOf(booking))) throw apiError('ERR00412', { context: errorContextOf(booking) });
}

/** The `contextData` of errors. The external booking id is empty if there is none. */
export function errorContextOf({ externalBookingId }: { readonly externalBookingId?: string | null }) {
  return { externalBookingId: externalBookingId ?? '' };
}
