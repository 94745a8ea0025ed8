// Writes bookings on a single PostgreSQL. One statement writes a booking and its counts, so the functions that write
// only counts return no statements. With `isoTimestamps`, the driver returns the timestamps of a booking as text.

import { deleteValues, insertValues, singleStatementWrites, updateValues } from './statements.ts';
import type { BookingWriter } from './writer.ts';

export const postgresWriter: BookingWriter = {
  needsTransaction: false,
  insert: (booking, check, holdId) => {
    const values = insertValues(booking, check);
    return holdId === undefined
      ? [[singleStatementWrites.insert, values]]
      : [[singleStatementWrites.insertWithHold, [...values, holdId]]];
  },
  update: (update) => [singleStatementWrites.update, updateValues(update)],
  countUpdate: () => [],
  delete: (key, etags) => [singleStatementWrites.delete, deleteValues(key, etags)],
  countDelete: () => [],
};
