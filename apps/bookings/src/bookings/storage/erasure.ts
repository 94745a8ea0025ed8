// Finds and writes the bookings of an erasure.
import { type Database, query, send, type Transaction } from '@bay-booking/service/database/database';
import { type Booking, selectBookings, updateRows, updateValues } from './columns.ts';

const statements = {
  findByAlias: 'select id from booking where facility_id = any($1) and user_alias = $2 limit $3',
  /**
   * The condition for the alias is that of the partial index booking_personal. If there were no order, PostgreSQL would
   * read the whole table instead: it expects many matches among ended bookings, but nearly all of them are erased.
   */
  findEnded: `select facility_id as "facilityId", id from booking
where user_alias <> 'erased' and end_date < $1 order by end_date limit $2`,
  lock: `${selectBookings} where facility_id = $1 and id = any($2::uuid[]) order by id for update`,
  update: updateRows('$2'),
};

export async function findByAlias(db: Database, facilities: readonly string[], userAlias: string, limit: number) {
  const rows = await query<{ id: string }>(db, statements.findByAlias, [facilities, userAlias, limit]);
  return rows.map(({ id }) => id);
}

/** Returns bookings that ended before `endedBefore` and whose alias is not erased. */
export const findEnded = (db: Database, endedBefore: Date, limit: number) =>
  query<{ readonly facilityId: string; readonly id: string }>(db, statements.findEnded, [
    endedBefore.toISOString(),
    limit,
  ]);

export const lockBookings = (tx: Transaction, facilityId: string, ids: readonly string[]) =>
  query<Booking>(tx, statements.lock, [facilityId, ids]);

export function storeErased(tx: Transaction, booking: Booking): void {
  send(tx, statements.update, [booking.facilityId, ...updateValues([booking])]);
}
