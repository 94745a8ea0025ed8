// Defines the interface that writes a booking and its counts, on a single PostgreSQL or on a distributed database.
import type { Statement } from '../../database/in-transaction.ts';
import type { AllowedEtags, Booking } from '../booking.ts';
import type { BayCheck, BookingKey, BookingUpdate } from './statements.ts';

/**
 * The methods return statements, which the caller runs. After an update or a delete, the caller also runs the
 * statements of `countUpdate` or `countDelete`, in the same transaction.
 */
export interface BookingWriter {
  /** Whether a write takes several statements, and therefore a transaction. */
  readonly needsTransaction: boolean;

  /**
   * The first statement inserts the booking and returns a row. It inserts nothing and returns no row if the bay is not
   * bookable or not free, or if something has changed since the request checked the opening hours, closures and holds.
   * `check` contains the results of these checks. Without a row, the caller rolls the transaction back. With `holdId`,
   * the statements also delete this hold.
   */
  insert(booking: Booking, check: BayCheck, holdId?: string): readonly [Statement, ...Statement[]];

  /**
   * The statement returns the updated booking. It returns no row if the booking or its bay does not exist, if the bay
   * is not bookable, if something has changed since the checks, or if the booking has another ETag. It fails with the
   * SQLSTATE 23P01 if another booking overlaps.
   */
  update(update: BookingUpdate): Statement;
  countUpdate(updated: Booking): readonly Statement[];

  /** The statement returns the deleted booking, or no row if it is missing or the ETags do not allow the deletion. */
  delete(key: BookingKey, etags: AllowedEtags): Statement;
  countDelete(deleted: Booking): readonly Statement[];
}
