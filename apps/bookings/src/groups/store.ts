// Reads the bookings of a group. A group exists as long as it has bookings.
import { type Database, query, type Transaction } from '@bay-booking/service/database/database';
import type { Booking } from '../bookings/resource.ts';
import { selectBookings } from '../bookings/storage/columns.ts';

const members = `${selectBookings} where facility_id = $1 and group_id = $2::uuid`;
const findMembers = `${members} order by start_date, id`;
const lockMembers = `${members} order by id for update`;

export type GroupStore = ReturnType<typeof createGroupStore>;

export function createGroupStore(db: Database) {
  return {
    find: (facilityId: string, id: string): Promise<readonly Booking[]> =>
      query<Booking>(db, findMembers, [facilityId, id]),

    lock:
      (facilityId: string, id: string) =>
      (tx: Transaction): Promise<readonly Booking[]> =>
        query<Booking>(tx, lockMembers, [facilityId, id]),
  };
}
