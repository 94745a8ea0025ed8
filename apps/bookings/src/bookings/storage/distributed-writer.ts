// Writes bookings on a distributed database (Citus). One statement writes the booking. Other statements in the same
// transaction append to the log booking_change, from which the counts and the change feed are derived.
//
// One statement for both tables would be slower. Citus would split it, and send the rows between its two parts through
// the coordinator (docs/operations/scale.md).
import type { Statement } from '../../database/in-transaction.ts';
import type { Booking } from '../booking.ts';
import { deleteValues, insertValues, separateWrites, updateValues } from './statements.ts';
import type { BookingWriter } from './writer.ts';

/** A booking is counted at its location, in the hour in which it starts. */
interface LocationAndHour {
  readonly locationId: string;
  readonly hour: string;
}

/** The row that the statement `separateWrites.delete` returns. */
type DeletedRow = Booking & LocationAndHour;

/** The row that the statement `separateWrites.update` returns. */
interface UpdatedRow extends Booking, LocationAndHour {
  readonly oldLocationId: string;
  readonly oldHour: string;
}

export const distributedWriter: BookingWriter = {
  needsTransaction: true,

  insert: (booking, check, holdId) => {
    const { facilityId, id, version } = booking;
    const useHold: Statement[] = holdId === undefined ? [] : [[separateWrites.deleteHold, [facilityId, holdId]]];
    return [
      [separateWrites.insert, insertValues(booking, check)],
      [separateWrites.countInserted, [facilityId, id, version]],
      ...useHold,
    ];
  },

  // With `isoTimestamps`, pg returns the timestamps of the updated booking in the format of responses.
  update: (update) => [separateWrites.update, updateValues(update)],
  countUpdate: (updated) => {
    const { locationId, hour, oldLocationId, oldHour, version } = updated as UpdatedRow;
    if (locationId === oldLocationId && hour === oldHour)
      return [appendChange(updated, version, 0, { locationId, hour })];
    return [
      appendChange(updated, version, -1, { locationId: oldLocationId, hour: oldHour }),
      appendChange(updated, version, 1, { locationId, hour }),
    ];
  },

  delete: (key, etags) => [separateWrites.delete, deleteValues(key, etags)],
  countDelete: (deleted) => [
    // A deletion counts as one more version of the booking. The row of the deletion also contains the last state of the
    // booking.
    appendChange(deleted, deleted.version + 1, -1, deleted as DeletedRow, JSON.stringify(deleted)),
  ],
};

/**
 * Appends a row to the log of changes. `countChange` is 1 to add the booking to the count of its location and hour, and
 * -1 to subtract the booking. With 0, the count does not change, and the row is needed only for the change feed.
 */
function appendChange(
  { facilityId, id }: Booking,
  version: number,
  countChange: 1 | 0 | -1,
  { locationId, hour }: LocationAndHour,
  lastState: string | null = null,
): Statement {
  return [separateWrites.appendChange, [facilityId, id, version, countChange, locationId, hour, lastState]];
}
