// Reads the change feed and numbers its changes. Adds bookings that are older than the feed, and removes deleted
// bookings after the retention period.
//
// A sequence of PostgreSQL cannot number the changes, because transactions do not commit in the order in which they
// take numbers from the sequence. A client that continues after the highest number it has seen would miss a lower
// number that is committed later.
//
// Requests that write bookings therefore only append their changes to the table booking_change, without a lock.
// Compaction (../counts/compaction.ts) locks the facility and numbers the committed changes. It commits before the next
// compaction of the facility begins, so numbers become visible in their order
// (docs/decisions/0014-numbers-of-the-change-feed.md).
import { type Database, query } from '@bay-booking/service/database/database';
import type { PublicBooking } from '../../bookings/booking.ts';
import { publicFieldsFromJson } from '../../bookings/storage/columns.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { compactionWrites } from '../totals/compaction.ts';
import { feedReads, feedWrites } from './statements.ts';

export interface Change {
  readonly number: number;
  /** The number of the change with which the booking came to this facility. */
  readonly firstNumber: number;
  readonly bookingId: string;
  /** Undefined if the booking is deleted. */
  readonly booking: PublicBooking | undefined;
  /**
   * The last state of a deleted booking. Undefined in three cases:
   * - The booking exists.
   * - The deletion was missing from the feed. A recount (../counts/compaction.ts) has added it without a last state.
   * - The deletion has no change number yet. It appears in the feed later, with a higher number.
   */
  readonly lastState: PublicBooking | undefined;
}

export interface ChangePage {
  readonly changes: readonly Change[];
  /** The highest change number among the deletions that were removed from the feed, or 0 if none were removed. */
  readonly removedNumber: number;
}

export interface FeedHead {
  /** The highest change number of the facility. */
  readonly changeNumber: number;
  /** The highest change number among the deletions that were removed from the feed, or 0. */
  readonly removedNumber: number;
}

interface State extends FeedHead {
  /** Whether the feed contains all bookings that were created before the service had a feed. */
  readonly isFilled: boolean;
  readonly hasUnnumberedChanges: boolean;
}

interface PageRow {
  readonly page: {
    readonly removedNumber: number;
    /**
     * Each of the texts `numbers`, `firstNumbers` and `bookingIds` has one element per change, separated by commas. The
     * changes are in the same order in all three. Null without changes.
     */
    readonly numbers: string | null;
    readonly firstNumbers: string | null;
    readonly bookingIds: string | null;
    /**
     * Maps the id of each deleted booking to its last state, or to null if the feed does not contain this state. The
     * map itself is null if no booking is deleted.
     */
    readonly deleted: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null;
  };
}

type BookingRow = PublicBooking & { readonly page: null };

export interface FacilityHead {
  readonly facilityId: string;
  readonly changeNumber: number;
  readonly hasUnnumberedChanges: boolean;
}

export type FeedStore = ReturnType<typeof createFeedStore>;

const emptyState: State = { changeNumber: 0, removedNumber: 0, isFilled: true, hasUnnumberedChanges: false };
/**
 * The maximum number of bookings that one statement adds to the feed. Without a maximum, the statement could take too
 * long: after an upgrade from a release without the feed, a facility may have to add millions of bookings.
 */
const fillSize = 20_000;
/** The maximum number of facilities in one run of `fill` or `removeExpired`. The next run continues. */
const maxFacilities = 1_000;

export function createFeedStore(db: Database) {
  const readState = async (facilityId: string): Promise<State> =>
    (await query<State>(db, feedReads.state, [facilityId]))[0] ?? emptyState;

  /**
   * Gives a change number to every change that was acknowledged before this call. Returns zeros if the facility does
   * not exist.
   */
  const assignNumbers = async (facilityId: string): Promise<FeedHead> => {
    let state = await readState(facilityId);
    if (state.isFilled && !state.hasUnnumberedChanges) return state;
    // The first turn of the loop gives a number to every unnumbered change. Further turns only fill the feed.
    do {
      const { isFilled } = state;
      await inTransaction(db, (run) =>
        run(
          [compactionWrites.lockFacility, [facilityId]],
          [compactionWrites.compact, [facilityId]],
          ...(isFilled ? [] : [[feedWrites.fill, [facilityId, fillSize]] as const]),
        ),
      );
      state = await readState(facilityId);
    } while (!state.isFilled);
    return state;
  };

  return {
    assignNumbers,

    /** Returns the changes after the number `after`, in order. The caller calls `assignNumbers` first. */
    changesAfter: async (facilityId: string, after: number, limit: number): Promise<ChangePage> => {
      // One statement returns a `PageRow` with the changes, and a `BookingRow` for each changed booking that exists.
      const rows = await query<PageRow | BookingRow>(db, feedReads.page, [facilityId, after, limit]);
      const page = rows.find(isPage)?.page;
      const bookings = new Map<string, PublicBooking>();
      // Sets the field `page` of each booking to undefined, so that JSON leaves it out. For 1000 rows, this is
      // 0.2 ms faster than copying all other fields.
      for (const row of rows) if (isBooking(row)) bookings.set(row.id, Object.assign(row, { page: undefined }));
      const [numbers, firstNumbers] = [listOf(page?.numbers), listOf(page?.firstNumbers)];
      const changes = listOf(page?.bookingIds).map((bookingId, index): Change => {
        const lastState = page?.deleted?.[bookingId];
        return {
          number: Number(numbers[index]),
          firstNumber: Number(firstNumbers[index]),
          bookingId,
          booking: bookings.get(bookingId),
          lastState: lastState ? publicFieldsFromJson(lastState) : undefined,
        };
      });
      return { changes, removedNumber: page?.removedNumber ?? 0 };
    },

    heads: (facilityIds: readonly string[]): Promise<readonly FacilityHead[]> =>
      query<FacilityHead>(db, feedReads.heads, [facilityIds]),

    /**
     * Adds the bookings that were created before the service had a feed, in up to 1000 facilities. The first client
     * that reads the feed of a large facility then does not have to wait until its bookings are added.
     */
    fill: async (): Promise<void> => {
      const facilities = await query<{ id: string }>(db, feedReads.facilitiesToFill, [maxFacilities]);
      for (const { id } of facilities) await assignNumbers(id);
    },

    /** Removes from the feed the bookings that were deleted before `before`, in up to 1000 facilities. */
    removeExpired: async (before: Date): Promise<void> => {
      const facilities = await query<{ id: string }>(db, feedReads.facilitiesWithExpired, [before, maxFacilities]);
      for (const { id } of facilities) {
        await inTransaction(db, (run) =>
          run([compactionWrites.lockFacility, [id]], [feedWrites.removeExpired, [id, before]]),
        );
      }
    },
  };
}

const isPage = (row: PageRow | BookingRow): row is PageRow => row.page !== null;
const isBooking = (row: PageRow | BookingRow): row is BookingRow => row.page === null;

function listOf(text: string | null | undefined): readonly string[] {
  return text ? text.split(',') : [];
}
