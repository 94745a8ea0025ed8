// Reads the change feed: every booking of a facility at its latest change, in the order of the change numbers.
import { type Database, query, transaction } from '@bay-booking/service/database/database';
import { compactFacility, lockFacility } from '../compaction.ts';
import type { BookingState } from '../log.ts';

export interface Change {
  readonly number: number;
  /** The number of the change with which the booking came to this facility. */
  readonly firstNumber: number;
  readonly bookingId: string;
  readonly isDeleted: boolean;
  /**
   * The booking after the change, or before its deletion. Null if the booking was deleted outside the service and its
   * last state is unknown.
   */
  readonly state: BookingState | null;
}

export interface Head {
  readonly facilityId: string;
  /** The highest change number of the facility. */
  readonly changeNumber: number;
  /** The highest change number among the deletions that were removed after the retention period, or 0. */
  readonly removedNumber: number;
  readonly hasUnnumberedChanges: boolean;
}

export type ChangePage = Pick<Head, 'removedNumber'> & { readonly changes: readonly Change[] };

// Change numbers are read as float8, because pg returns a bigint as text.
const headsStatement = `select id as "facilityId", change_number::float8 as "changeNumber",
  removed_change_number::float8 as "removedNumber",
  exists (
    select from booking_change where booking_change.facility_id = facility.id and number is null
  ) as "hasUnnumberedChanges"
from facility where id = any($1)`;

// One statement reads all, so that it comes from one snapshot. Without changes, the row has only `removedNumber`.
const pageStatement = `select removed_change_number::float8 as "removedNumber", change.*
from facility left join (
  select number::float8 as number, first_number::float8 as "firstNumber", booking_id as "bookingId",
    action = 'deleted' as "isDeleted", coalesce(after, before) as state, facility_id
  from booking_change where facility_id = $1 and latest and number > $2::bigint
  order by booking_change.number limit $3
) change on facility_id = id where id = $1 order by number`;

export type FeedStore = ReturnType<typeof createFeedStore>;

export function createFeedStore(db: Database) {
  /** Numbers every change of these facilities that was acknowledged before this call. */
  async function assignNumbers(facilityIds: readonly string[]): Promise<readonly Head[]> {
    const heads: Head[] = [];
    for (const head of await query<Head>(db, headsStatement, [facilityIds]))
      heads.push(head.hasUnnumberedChanges ? await compact(head) : head);
    return heads;
  }

  function compact(head: Head): Promise<Head> {
    const { facilityId } = head;
    return transaction(db, async (tx) => {
      lockFacility(tx, facilityId);
      compactFacility(tx, facilityId);
      return (await query<Head>(tx, headsStatement, [[facilityId]]))[0] ?? head;
    });
  }

  return {
    /** Returns the head of the facility after every change that was acknowledged before this call has a number. */
    head: async (facilityId: string): Promise<Pick<Head, 'changeNumber' | 'removedNumber'>> =>
      (await assignNumbers([facilityId]))[0] ?? { changeNumber: 0, removedNumber: 0 },

    /** Returns the highest change number of each facility, as `head` does. */
    latestNumbers: async (facilityIds: readonly string[]): Promise<ReadonlyMap<string, number>> => {
      const numbers = new Map(facilityIds.map((id) => [id, 0]));
      for (const { facilityId, changeNumber } of await assignNumbers(facilityIds))
        numbers.set(facilityId, changeNumber);
      return numbers;
    },

    /** Returns the changes after the number `after`, in order. Changes without a number are not included. */
    changesAfter: async (facilityId: string, after: number, limit: number): Promise<ChangePage> => {
      const values = [facilityId, after, limit];
      const rows = await query<Change & Pick<Head, 'removedNumber'>>(db, pageStatement, values);
      const changes = rows.filter(({ bookingId }) => bookingId !== null);
      return { changes, removedNumber: rows[0]?.removedNumber ?? 0 };
    },
  };
}
