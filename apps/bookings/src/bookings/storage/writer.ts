// Defines how a booking and its counts are written: by one implementation for a single PostgreSQL, and by another one
// for a distributed database.
import type { Statement } from '@bay-booking/service/database/transaction';
import type { AllowedEtags, Booking } from '../booking.ts';
import type { BayCheck, BookingKey, BookingUpdate } from './statements.ts';

/**
 * The methods return statements, which the caller runs. `countUpdate` and `countDelete` return the statements that must
 * follow an update or a delete in the same transaction.
 */
export interface BookingWriter {
  /** Whether a write takes several statements, and therefore a transaction. */
  readonly needsTransaction: boolean;

  /**
   * The first statement returns a row if the booking was inserted, which requires that its bay is bookable and free,
   * and that the check still applies.
   */
  insert(booking: Booking, check: BayCheck): readonly [Statement, ...Statement[]];

  /**
   * Returns the updated booking; no row if it or its bay does not exist, or the bay, the check or an ETag prevents it.
   */
  update(update: BookingUpdate): Statement;
  countUpdate(updated: Booking): readonly Statement[];

  /** Returns the deleted booking; no row if it does not exist, or an ETag prevents the deletion. */
  delete(key: BookingKey, etags: AllowedEtags): Statement;
  countDelete(deleted: Booking): readonly Statement[];
}
