// Writes bookings on a single PostgreSQL. One statement writes a booking and its counts.
import { deleteValues, insertValues, singleStatementWrites, updateValues } from './statements.ts';
import { isoTimestamps } from './timestamps.ts';
import type { BookingWriter } from './writer.ts';

export const postgresWriter: BookingWriter = {
  needsTransaction: false,
  insert: (...insertion) => [[singleStatementWrites.insert, insertValues(...insertion)]],
  update: (update) => [singleStatementWrites.update, updateValues(update), isoTimestamps],
  countUpdate: () => [],
  delete: (...deletion) => [singleStatementWrites.delete, deleteValues(...deletion), isoTimestamps],
  countDelete: () => [],
};
