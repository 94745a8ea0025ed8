// Checks the condition If-Match of a request against a booking.
import { apiError } from '../errors.ts';
import { type Booking, etagOf } from './booking.ts';

/** `etags` are the values of If-Match; undefined allows every version. @throws {ApiError} 412 if none matches */
export function checkIfMatch(etags: readonly string[] | undefined, booking: Booking): void {
  if (!etags || etags.includes(etagOf(booking))) return;
  throw apiError('ERR00412', { context: { externalBookingId: booking.externalBookingId ?? '' } });
}
