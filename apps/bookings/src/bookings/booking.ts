// Derives the types of a booking and of its parts from the fields in storage/columns.ts, and calculates the ETag of a
// booking.
import type { Booking, PublicField, UpdateField } from './storage/columns.ts';

export type { Booking } from './storage/columns.ts';

/** A booking as clients see it, apart from its links. */
export type PublicBooking = Pick<Booking, PublicField>;

/** The values of the fields that an update replaces. */
export type BookingChange = Pick<Booking, UpdateField>;

/** The ETags of the header If-Match, without quotes. Undefined allows every version of a resource. */
export type AllowedEtags = readonly string[] | undefined;

/** The ETag of a booking, without quotes. The database calculates the same value when it checks `If-Match`. */
export function etagOf({ version, lastUpdatedAt }: Pick<Booking, 'version' | 'lastUpdatedAt'>): string {
  return `${version}-${Date.parse(lastUpdatedAt)}`;
}
