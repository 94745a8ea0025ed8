// Reads, creates, updates, moves and deletes bookings.
//
// Every write is atomic. Concurrent writes cannot deadlock with each other, because all of them lock rows in the same
// order: the idempotency key, the external booking id, the bays by facility and id, and the booking.
//
// Errors of PostgreSQL are recognised by SQLSTATE and not by the name of a constraint, because Citus renames
// constraints on the shards of a distributed table.
import { type Database, errorCode, query } from '@bay-booking/service/database/database';
import { inTransaction, type Run, retryOnce, type Statement } from '../../database/in-transaction.ts';
import { outcomeOf, Rollback } from '../../database/rollback.ts';
import type { FoundHold } from '../../holds/hold.ts';
import { type NewResponse, type StoreResponseOutcome, storeResponse } from '../../idempotency/store.ts';
import type { AllowedEtags, Booking } from '../booking.ts';
import { pick, updateFields } from './columns.ts';
import { allHoldsChecked, type BookingUpdate, bayStatements, bookingReads, referenceStatements } from './statements.ts';
import { createWriterSelection } from './writer-selection.ts';

/**
 * Nothing was written. The booking or its bay does not exist, the bay is not bookable or is held, its rules or the
 * booking have changed, or another booking overlaps a new or moved booking. The caller finds the reason.
 */
type Conflict = 'conflict';
export type CreateOutcome = 'created' | 'external id used' | Conflict | Exclude<StoreResponseOutcome, 'stored'>;
export type UpdateOutcome = Booking | 'overlap' | Conflict;

export interface BayConflicts {
  readonly bookable: boolean;
  readonly isOverlapping: boolean;
  /** The time at which the last live hold that overlaps the interval expires. Null if there is no such hold. */
  readonly heldUntil: string | null;
}

/** The booking that a request changes, and the hold that it uses. They do not conflict with this request. */
export interface ExceptedIds {
  readonly bookingId?: string | undefined;
  readonly holdId?: string | undefined;
}

export interface Creation {
  /** The version of the rules that permit the interval of the booking. */
  readonly rulesVersion: number;
  /**
   * Whether the transaction locks the bay and looks up the holds that overlap the interval. Few bays have holds, so the
   * first attempt to create the booking does not look them up: any live hold of the bay is then a conflict, even one at
   * another time. If the booking uses `hold`, only holds that were added after `hold` was read are then conflicts (see
   * `FoundHold.bayHeldUntil`).
   */
  readonly looksUpHolds: boolean;
  /** The hold that the booking uses, and that is deleted when the booking is created. */
  readonly hold?: FoundHold | undefined;
  /** The response to store. Undefined if the request had no Idempotency-Key. */
  readonly response?: NewResponse | undefined;
}

/**
 * `looksUpHolds`: whether the transaction locks the old and the new bay, and looks up the holds of the new bay that
 * overlap the interval. If false, any live hold of the new bay is a conflict. `oldBayId` is the bay of the booking when
 * the booking was read.
 */
type HoldLookUp =
  | { readonly looksUpHolds: false; readonly oldBayId?: undefined }
  | { readonly looksUpHolds: true; readonly oldBayId: string };

type CheckedUpdate = Omit<BookingUpdate, 'check'> & Pick<Creation, 'rulesVersion'>;
export type Update = CheckedUpdate & HoldLookUp;

export interface Move extends Omit<CheckedUpdate, 'key'> {
  /** The facility of the new bay. */
  readonly facilityId: string;
}

export type BookingStore = ReturnType<typeof createBookingStore>;

/**
 * The SQLSTATE of a statement that would make two bookings overlap. Only updates fail with this SQLSTATE. An insert
 * returns no row instead (`on conflict … do nothing`).
 */
const exclusionViolation = '23P01';

export function createBookingStore(db: Database) {
  const selectWriter = createWriterSelection(db);

  /**
   * Runs `work` atomically. If `work` throws a `Rollback`, returns the outcome in this error. After a deadlock with a
   * statement of another program, or after a similar conflict, runs `work` a second time. A single statement is atomic
   * without a transaction.
   */
  function atomically<T>(needsTransaction: boolean, work: (run: Run) => Promise<T>): Promise<T> {
    // The cast is needed because a function of type `Run` accepts any number of statements. This one runs exactly one.
    const runSingleStatement = (async ([sql, values]) => [await query(db, sql, values)]) as Run;
    const attempt = () => (needsTransaction ? inTransaction(db, work) : work(runSingleStatement));
    return outcomeOf(retryOnce(db, attempt));
  }

  return {
    find: async (facilities: readonly string[], id: string): Promise<Booking | undefined> =>
      (await query<Booking>(db, bookingReads.find, [facilities, id]))[0],

    create: async (
      booking: Booking,
      { rulesVersion, looksUpHolds, hold, response }: Creation,
    ): Promise<CreateOutcome> => {
      const writer = await selectWriter();
      const { externalBookingId, facilityId, id } = booking;
      // Inserts a row into booking_reference, a table in which external booking ids are unique over all facilities.
      const reference = referenceStatement(externalBookingId, referenceStatements.insert, [facilityId, id]);
      // `checkedHeldUntil` has one of three values:
      // - `allHoldsChecked`: the statement checks no holds. The transaction locks the bay and looks up its holds.
      // - A timestamp: the value of `bay.held_until` when `hold` was read. Only holds that were added later prevent the
      //   booking. The earlier holds do not overlap `hold`, which contains the interval of the booking.
      // - null: every live hold of the bay prevents the booking.
      const checkedHeldUntil = looksUpHolds ? allHoldsChecked : (hold?.bayHeldUntil ?? null);
      const insertion = writer.insert(booking, { rulesVersion, checkedHeldUntil }, hold?.id);
      const needsTransaction =
        writer.needsTransaction || reference.length > 0 || response !== undefined || looksUpHolds;
      return atomically<CreateOutcome>(needsTransaction, async (run) => {
        const stored = await storeResponse(run, response, booking);
        if (stored !== 'stored') throw new Rollback<CreateOutcome>(stored);
        /** Also sends the statement for the external booking id, but returns only the rows of `statements`. */
        const runWithReference = async (...statements: readonly Statement[]) => {
          const rows = await run(...reference, ...statements);
          if (reference.length > 0 && rows[0]?.length === 0) throw new Rollback<CreateOutcome>('external id used');
          return rows.slice(reference.length);
        };
        if (looksUpHolds) {
          const [, holds] = await runWithReference(...lockBaysAndReadHolds([booking.bayId], booking));
          if (hasOtherHold(holds as HoldRow[], hold?.id)) throw new Rollback<CreateOutcome>('conflict');
        }
        const [inserted] = looksUpHolds ? await run(...insertion) : await runWithReference(...insertion);
        if (inserted?.length === 0) throw new Rollback<CreateOutcome>('conflict');
        return 'created';
      });
    },

    /** Updates a booking whose old and new bay belong to the same facility. */
    update: async ({ rulesVersion, looksUpHolds, oldBayId, ...update }: Update): Promise<UpdateOutcome> => {
      const writer = await selectWriter();
      const check = { rulesVersion, checkedHeldUntil: looksUpHolds ? allHoldsChecked : null };
      const statement = writer.update({ ...update, check });
      try {
        return await atomically<UpdateOutcome>(writer.needsTransaction || looksUpHolds, async (run) => {
          if (looksUpHolds) {
            const target = { facilityId: update.key.facilityId, ...update.change };
            const [, holds, [current]] = await run<[object[], HoldRow[], { bayId: string }[]]>(
              ...lockBaysAndReadHolds([oldBayId, target.bayId], target),
              [bookingReads.bayOf, [update.key.facilityId, update.key.id]],
            );
            // Another request may have moved the booking to a third bay. Locking that bay now would violate the order
            // of the locks. The outcome is therefore a conflict, after which the caller reads the booking again.
            const hasMoved = current !== undefined && current.bayId !== oldBayId && current.bayId !== target.bayId;
            if (hasMoved || hasOtherHold(holds)) throw new Rollback<UpdateOutcome>('conflict');
          }
          const [[updated]] = await run<[Booking[]]>(statement);
          // Nothing was written, so no rollback is needed.
          if (!updated) return 'conflict';
          // On a single PostgreSQL, the statement above has also changed the counts, so `countStatements` is empty.
          const countStatements = writer.countUpdate(updated);
          if (countStatements.length > 0) await run(...countStatements);
          return updated;
        });
      } catch (error) {
        if (errorCode(error) === exclusionViolation) return 'overlap';
        throw error;
      }
    },

    /**
     * Updates a booking whose new bay belongs to another facility: deletes the booking in the old facility, and inserts
     * the booking in the new facility.
     */
    move: async (
      { facilityId: oldFacilityId, id, bayId: oldBayId, externalBookingId }: Booking,
      { facilityId, change, etags, at, rulesVersion }: Move,
    ): Promise<UpdateOutcome> => {
      const writer = await selectWriter();
      const reference = referenceStatement(externalBookingId, referenceStatements.move, [id, facilityId]);
      const bays = [
        { facilityId: oldFacilityId, bayId: oldBayId },
        { facilityId, bayId: change.bayId },
      ];
      // Every transaction locks bays in the order of their facilities, which prevents deadlocks.
      const locks = bays
        .sort((a, b) => (a.facilityId < b.facilityId ? -1 : 1))
        .map((bay): Statement => [bayStatements.lock, [bay.facilityId, [bay.bayId]]]);
      return atomically<UpdateOutcome>(true, async (run) => {
        const deletion = writer.delete({ facilityId: oldFacilityId, id }, etags);
        const rows = await run(...reference, ...locks, readLiveHolds({ ...change, facilityId }), deletion);
        // The last result contains the deleted booking. The result before it contains the live holds of the new bay.
        const [holds, [deleted]] = rows.slice(-2) as [HoldRow[], Booking[]];
        if (!deleted || hasOtherHold(holds)) throw new Rollback<UpdateOutcome>('conflict');
        const now = at.toISOString();
        // `updateFields` lists the fields of an update, so a new field cannot be forgotten here.
        const moved: Booking = {
          ...deleted,
          ...pick(updateFields, change),
          facilityId,
          // `lastUpdatedAt` never decreases, even if the clock of another host is ahead.
          lastUpdatedAt: now > deleted.lastUpdatedAt ? now : deleted.lastUpdatedAt,
          version: deleted.version + 1,
        };
        const [inserted] = await run(
          ...writer.insert(moved, { rulesVersion, checkedHeldUntil: allHoldsChecked }),
          ...writer.countDelete(deleted),
        );
        if (inserted?.length === 0) throw new Rollback<UpdateOutcome>('conflict');
        return moved;
      });
    },

    /** Returns false if the booking does not exist or has another ETag. */
    delete: async ({ facilityId, id, externalBookingId }: Booking, etags: AllowedEtags): Promise<boolean> => {
      const writer = await selectWriter();
      const reference = referenceStatement(externalBookingId, referenceStatements.delete, [id]);
      return atomically(writer.needsTransaction || reference.length > 0, async (run) => {
        const deletion = writer.delete({ facilityId, id }, etags);
        const rows = await run(...reference, deletion);
        const deleted = rows.at(-1)?.[0] as Booking | undefined;
        if (!deleted) throw new Rollback(false);
        const countStatements = writer.countDelete(deleted);
        if (countStatements.length > 0) await run(...countStatements);
        return true;
      });
    },

    /**
     * Finds why a bay cannot be booked: it is not bookable, or has another booking or a hold in the interval. The
     * opening hours and closures are not checked here. Returns undefined if the bay does not exist.
     */
    findConflicts: async (
      { facilityId, bayId }: { readonly facilityId: string; readonly bayId: string },
      interval: { readonly start: Date; readonly end: Date } | undefined,
      { bookingId, holdId }: ExceptedIds,
    ): Promise<BayConflicts | undefined> => {
      const times = [interval?.start.toISOString() ?? null, interval?.end.toISOString() ?? null];
      const values = [facilityId, bayId, ...times, bookingId ?? null, holdId ?? null];
      return (await query<BayConflicts>(db, bookingReads.conflicts, values))[0];
    },

    isExternalIdUsed: async (externalBookingId: string): Promise<boolean> =>
      (await query(db, referenceStatements.find, [externalBookingId])).length > 0,
  };
}

interface HoldRow {
  readonly id: string;
}

type BayAndTimes = Pick<Booking, 'facilityId' | 'bayId' | 'startDate' | 'endDate'>;

function lockBaysAndReadHolds(bayIds: readonly string[], target: BayAndTimes): readonly [Statement, Statement] {
  return [[bayStatements.lock, [target.facilityId, bayIds]], readLiveHolds(target)];
}

function readLiveHolds({ facilityId, bayId, startDate, endDate }: BayAndTimes): Statement {
  return [bayStatements.liveHolds, [facilityId, bayId, startDate, endDate]];
}

function hasOtherHold(holds: readonly HoldRow[], ownHoldId?: string): boolean {
  return holds.some(({ id }) => id !== ownHoldId);
}

/**
 * Returns the statement `sql`, which inserts, changes or deletes the row of the external booking id $1. Returns no
 * statement if the booking has no external id.
 */
function referenceStatement(externalBookingId: string | null, sql: string, values: readonly string[]): Statement[] {
  return externalBookingId === null ? [] : [[sql, [externalBookingId, ...values]]];
}
