// Finds and writes the bookings of an erasure.
import { type Database, query, send, type Transaction } from '@bay-booking/service/database/database';
import { type Booking, selectBookings, updateBooking, updateValues } from './columns.ts';

const statements = {
  findByAlias: 'select id from booking where facility_id = any($1) and user_alias = $2 limit $3',
  /** The comparisons with the alias are ranges of an index, so erased bookings are not read. */
  findEnded: `select facility.id as "facilityId", ended.id from facility cross join lateral (
  select id from booking
  where facility_id = facility.id and (user_alias < $2 or user_alias > $2) and start_date < $1 and end_date < $1
  limit $3
) ended limit $3`,
  lock: `${selectBookings} where facility_id = $1 and id = any($2::uuid[]) order by id for update`,
};

export async function findByAlias(db: Database, facilities: readonly string[], userAlias: string, limit: number) {
  const rows = await query<{ id: string }>(db, statements.findByAlias, [facilities, userAlias, limit]);
  return rows.map(({ id }) => id);
}

/** Returns bookings that ended before `endedBefore` and whose alias is not `erasedAlias`. */
export const findEnded = (db: Database, endedBefore: Date, erasedAlias: string, limit: number) =>
  query<{ readonly facilityId: string; readonly id: string }>(db, statements.findEnded, [
    endedBefore.toISOString(),
    erasedAlias,
    limit,
  ]);

export const lockBookings = (tx: Transaction, facilityId: string, ids: readonly string[]) =>
  query<Booking>(tx, statements.lock, [facilityId, ids]);

export function storeErased(tx: Transaction, booking: Booking): void {
  send(tx, updateBooking, updateValues(booking));
}
