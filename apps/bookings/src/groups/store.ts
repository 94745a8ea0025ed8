// Reads and deletes the bookings of a group. A group exists as long as it has bookings.
import { type Database, query, transaction } from '@bay-booking/service/database/database';
import type { Booking } from '../bookings/resource.ts';
import { selectBookings } from '../bookings/storage/columns.ts';
import { deleteBookings, type Sender } from '../bookings/storage/store.ts';

const findMembers = `${selectBookings} where facility_id = $1 and group_id = $2::uuid order by start_date, id`;
const lockMembers = `${selectBookings} where facility_id = $1 and group_id = $2::uuid order by id for update`;

export interface GroupDeletion {
  readonly facilityId: string;
  readonly id: string;
  /** The time of the request. Bookings that have ended by then stay. */
  readonly at: Date;
  readonly sender: Sender;
  /** Gets the locked bookings. If it throws an error, nothing is deleted. */
  readonly check: (bookings: readonly Booking[]) => void;
}

export type GroupStore = ReturnType<typeof createGroupStore>;

export function createGroupStore(db: Database) {
  return {
    find: (facilityId: string, id: string): Promise<readonly Booking[]> =>
      query<Booking>(db, findMembers, [facilityId, id]),

    /** Returns false if the facility does not have the group. */
    delete: ({ facilityId, id, at, sender, check }: GroupDeletion): Promise<boolean> =>
      transaction(db, async (tx) => {
        const bookings = await query<Booking>(tx, lockMembers, [facilityId, id]);
        if (bookings.length === 0) return false;
        check(bookings);
        const remaining = bookings.filter(({ endDate }) => Date.parse(endDate) > at.getTime());
        deleteBookings(tx, remaining, at, sender);
        return true;
      }),
  };
}
