// Defines the interface that writes a booking and its counts, on a single PostgreSQL or on a distributed database.
import type { Statement } from '@bay-booking/service/database/transaction';
import type { AllowedEtags, Booking } from '../booking.ts';
import type { BayCheck, BookingKey, BookingUpdate } from './statements.ts';

/**
 * The methods return statements, which the caller runs. After an update or a delete, the caller runs the statements
 * that `countUpdate` or `countDelete` returns in the same transaction.
 */
export interface BookingWriter {
  /** Whether a write takes several statements, and therefore a transaction. */
  readonly needsTransaction: boolean;

  /**
   * The first statement inserts the booking if its bay is bookable and free, and if nothing has changed since the
   * checks of the opening hours, closures and holds, whose results are in `check`. If this statement returns no row, it
   * has inserted nothing, and the caller rolls the transaction back. With `holdId`, the statements also delete this
   * hold.
   */
  insert(booking: Booking, check: BayCheck, holdId?: string): readonly [Statement, ...Statement[]];

  /**
   * The statement returns the updated booking. It returns no row if the booking or its bay does not exist, if the bay
   * is not bookable, if something has changed since the checks, or if the booking has another ETag.
   */
  update(update: BookingUpdate): Statement;
  countUpdate(updated: Booking): readonly Statement[];

  /** The statement returns the deleted booking, or no row if it is missing or the ETags do not allow the deletion. */
  delete(key: BookingKey, etags: AllowedEtags): Statement;
  countDelete(deleted: Booking): readonly Statement[];
}
