// Checks whether the header If-Match of a request allows the current version of a booking.
import { apiError } from '../errors.ts';
import { type AllowedEtags, type Booking, etagOf } from './booking.ts';

/**
 * If `etags` is undefined, every version is allowed.
 * @throws {ApiError} 412 if the booking has another ETag
 */
export function checkIfMatch(etags: AllowedEtags, booking: Booking): void {
  if (!etags || etags.includes(etagOf(booking))) return;
  throw apiError('ERR00412', { context: { externalBookingId: booking.externalBookingId ?? '' } });
}
