// Numbers the changes and reads the change feed: every booking of a facility at its latest change, in the order of
// the change numbers.
import { type Database, query, queryOne, type Transaction, transaction } from '@bay-booking/service/database/database';
import { lockFacility } from '../../database/locks.ts';
import { unavailable } from '../../errors.ts';
import { compactFacility } from '../compaction.ts';
import type { BookingState, ChangeActor } from '../log.ts';
import { handleRestore } from '../restore.ts';

export interface FeedChange {
  readonly number: number;
  /** The number of the change that brought the booking to this facility. */
  readonly firstNumber: number;
  readonly bookingId: string;
  readonly isDeleted: boolean;
  /**
   * The booking after the change, or before its deletion. Null if the booking was deleted outside the service and its
   * last state is unknown.
   */
  readonly state: BookingState | null;
  readonly actor: ChangeActor;
}

interface Head {
  readonly facilityId: string;
  /** The highest change number of the facility. */
  readonly changeNumber: number;
  readonly hasUnnumberedChanges: boolean;
}

export interface FeedPage {
  readonly changes: readonly FeedChange[];
  /** The highest change number among the deletions that were removed after the retention period, or 0. */
  readonly removedNumber: number;
}

export interface LogPage {
  readonly changes: readonly FeedChange[];
  /** Whether there may be changes after those of the page. */
  readonly hasMore: boolean;
}

// Change numbers are read as float8, because pg returns a bigint as a string.
const headsStatement = `select id as "facilityId", change_number::float8 as "changeNumber",
  exists (
    select from booking_change where booking_change.facility_id = facility.id and number is null
  ) as "hasUnnumberedChanges"
from facility where id = any($1)`;

const changeColumns = `number::float8 as number, first_number::float8 as "firstNumber", booking_id as "bookingId",
    after is null as "isDeleted", coalesce(after, before) as state,
    jsonb_build_object('clientId', client_id, 'subject', subject) as actor, facility_id`;

// One statement reads everything from one snapshot. If there are no changes, the row has only `removedNumber`.
const pageStatement = `select removed_change_number::float8 as "removedNumber", change.*
from facility left join (
  select ${changeColumns}
  from booking_change where facility_id = $1 and latest and number > $2::bigint
  order by booking_change.number limit $3
) change on facility_id = id where id = $1 order by number`;

// Superseded changes too: if a booking is created before the end of a page and changed after it, the page contains the
// creation.
const logStatement = `select ${changeColumns}
from booking_change where facility_id = $1 and number > $2::bigint order by booking_change.number limit $3`;

// The changes after $2, up to $3. Only the first $4 are counted. Created: the booking came to the facility after $5.
const countStatement = `select max(number) filter (where position <= $4)::float8 as last,
  coalesce(bool_or(position > $4), false) as "hasMore",
  count(*) filter (where position <= $4 and has_after and first_number > $5::bigint)::int as created,
  count(*) filter (where position <= $4 and has_after and first_number <= $5::bigint)::int as updated,
  count(*) filter (where position <= $4 and not has_after and has_before)::int as deleted
from (
  select number, first_number, after is not null as has_after, before is not null as has_before,
    row_number() over (order by number) as position
  from booking_change where facility_id = $1 and latest and number > $2::bigint and number <= $3::bigint
  order by number limit $4::int + 1
) change`;

const latestStatement = `select ${changeColumns} from booking_change
where facility_id = $1 and booking_id = $2 and latest and number is not null`;

export interface ChangeCount {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  /** The number of the last change that is counted. Null if no change is counted. */
  readonly last: number | null;
  /** Whether there are changes that are not counted. */
  readonly hasMore: boolean;
}

export type FeedStore = ReturnType<typeof createFeedStore>;

/** How long a request numbers changes, in milliseconds. A later request continues. */
const maxNumberingTime = 5_000;

export function createFeedStore(db: Database) {
  function compact({ facilityId, ...head }: Head): Promise<Head> {
    return transaction(db, async (tx) => {
      lockFacility(tx, facilityId);
      const hasUnnumberedChanges = await compactFacility(tx, facilityId);
      const row = await queryOne<Head>(tx, headsStatement, [[facilityId]]);
      return { ...head, ...row, facilityId, hasUnnumberedChanges };
    });
  }

  return {
    /**
     * Gives a number to every change of these facilities that was acknowledged before this call. Returns the highest
     * change number of each facility, or 0. After each batch, `isEnough` may end the work on a facility.
     * @throws {ApiError} 503 if there are too many changes without a number
     */
    numberChanges: async (facilityIds: readonly string[], isEnough: () => Promise<boolean> = async () => false) => {
      await handleRestore(db);
      const startedAt = performance.now();
      const numbers = new Map(facilityIds.map((id) => [id, 0]));
      for (const found of await query<Head>(db, headsStatement, [facilityIds])) {
        let head = found;
        while (head.hasUnnumberedChanges) {
          head = await compact(head);
          if (head.hasUnnumberedChanges && (await isEnough())) break;
          if (head.hasUnnumberedChanges && performance.now() - startedAt > maxNumberingTime)
            throw unavailable(new Error('many changes have no number yet'), 2);
        }
        numbers.set(head.facilityId, head.changeNumber);
      }
      return numbers;
    },

    /** Returns the changes after the number `after`, in order. Changes without a number are not included. */
    changesAfter: async (facilityId: string, after: number, limit: number): Promise<FeedPage> => {
      const values = [facilityId, after, limit];
      const rows = await query<FeedChange & Pick<FeedPage, 'removedNumber'>>(db, pageStatement, values);
      const changes = rows.filter(({ bookingId }) => bookingId !== null);
      return { changes, removedNumber: rows[0]?.removedNumber ?? 0 };
    },

    /** Returns the next `limit` changes after the number `after`, of each booking only the last one of these. */
    logAfter: async (facilityId: string, after: number, limit: number): Promise<LogPage> => {
      const changes = await query<FeedChange>(db, logStatement, [facilityId, after, limit]);
      const lastOfBooking = new Map(changes.map((change) => [change.bookingId, change]));
      return {
        changes: changes.filter((change) => lastOfBooking.get(change.bookingId) === change),
        hasMore: changes.length === limit,
      };
    },

    /**
     * Counts up to `limit` changes after the number `after`, up to `until`. Bookings that came to the facility after
     * `from` count as created.
     */
    countChanges: async (
      facilityId: string,
      { from, after, until }: { readonly from: number; readonly after: number; readonly until: number },
      limit: number,
    ): Promise<ChangeCount> => {
      const count = await queryOne<ChangeCount>(db, countStatement, [facilityId, after, until, limit, from]);
      return count as ChangeCount;
    },
  };
}

/** Returns the latest change of the booking at the facility that has a number, unless retention has removed it. */
export async function findLatestChange(tx: Transaction, facilityId: string, bookingId: string) {
  return queryOne<FeedChange>(tx, latestStatement, [facilityId, bookingId]);
}
