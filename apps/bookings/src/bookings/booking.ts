// Derives the types of a booking and of its parts from the fields in storage/columns.ts, and checks the ETag of a
// booking.
import { apiError } from '../errors.ts';
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

/**
 * `etags` are those of the header If-Match. Undefined allows every version.
 * @throws {ApiError} 412 if the booking has another ETag
 */
export function checkIfMatch(etags: readonly string[] | undefined, booking: Booking): void {
  if (!etags || etags.includes(etagOf(booking))) return;
  throw apiError('ERR00412', { context: { externalBookingId: booking.externalBookingId ?? '' } });
}
