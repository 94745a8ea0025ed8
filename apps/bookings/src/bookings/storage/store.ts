// Reads, creates, updates, moves and deletes bookings.
//
// Every write is atomic. Concurrent writes cannot deadlock, because each locks in the same order: idempotency key,
// external booking id, bays by facility and id, booking. Errors of PostgreSQL are recognised by SQLSTATE, because a
// distributed table renames its constraints.
import { type Database, errorCode, query, retryOnce } from '@bay-booking/service/database/database';
import { inTransaction, type Run, type Statement } from '@bay-booking/service/database/transaction';
import type { AllowedEtags, Booking, BookingChange } from '../booking.ts';
import { pick, updateFields } from './columns.ts';
import { type NewResponse, type StoreResponseOutcome, storeResponse } from './idempotency-store.ts';
import { type BookingKey, bayStatements, bookingReads, referenceStatements } from './statements.ts';
import { isoTimestamps } from './timestamps.ts';
import { createWriterSelection } from './writer-selection.ts';

/** The booking or its bay does not exist, the bay is not bookable or not free, or the booking has another ETag. */
type Conflict = 'conflict';
export type CreateOutcome = 'created' | 'external id used' | Conflict | Exclude<StoreResponseOutcome, 'stored'>;
export type UpdateOutcome = Booking | 'overlap' | Conflict;

export interface BayConflicts {
  readonly bookable: boolean;
  readonly isOverlapping: boolean;
}

export type BookingStore = ReturnType<typeof createBookingStore>;

const exclusionViolation = '23P01';

/** Thrown inside a transaction to roll it back. `outcome` becomes the result. */
class Rollback<Outcome> extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super('rolled back');
    this.outcome = outcome;
  }
}

export function createBookingStore(db: Database) {
  const selectWriter = createWriterSelection(db);

  /** Runs `work` atomically. A single statement needs no transaction for that. */
  async function atomically<T>(needsTransaction: boolean, work: (run: Run) => Promise<T>): Promise<T> {
    const runOne = (async ([sql, values, types]) => [await query(db, sql, values, types)]) as Run;
    try {
      return await retryOnce(db, () => (needsTransaction ? inTransaction(db, work) : work(runOne)));
    } catch (error) {
      if (error instanceof Rollback) return error.outcome;
      throw error;
    }
  }

  return {
    find: async (facilities: readonly string[], id: string): Promise<Booking | undefined> =>
      (await query<Booking>(db, bookingReads.find, [facilities, id], isoTimestamps))[0],

    /** `response` is stored if the request had an Idempotency-Key. */
    create: async (booking: Booking, response?: NewResponse): Promise<CreateOutcome> => {
      const writer = await selectWriter();
      const { externalBookingId, facilityId, id } = booking;
      const reference = referenceStatement(externalBookingId, referenceStatements.insert, [facilityId, id]);
      const needsTransaction = writer.needsTransaction || reference.length > 0 || response !== undefined;
      return atomically<CreateOutcome>(needsTransaction, async (run) => {
        const stored = response ? await storeResponse(run, response, booking) : 'stored';
        if (stored !== 'stored') throw new Rollback<CreateOutcome>(stored);
        const rows = await run(...reference, ...writer.insert(booking));
        if (reference.length > 0 && rows[0]?.length === 0) throw new Rollback<CreateOutcome>('external id used');
        if (rows[reference.length]?.length === 0) throw new Rollback<CreateOutcome>('conflict');
        return 'created';
      });
    },

    /** Updates a booking whose old and new bay belong to the same facility. */
    update: async (key: BookingKey, change: BookingChange, etags: AllowedEtags, at: Date): Promise<UpdateOutcome> => {
      const writer = await selectWriter();
      try {
        return await atomically<UpdateOutcome>(writer.needsTransaction, async (run) => {
          const [[updated]] = await run<[Booking[]]>(writer.update(key, change, etags, at));
          if (!updated) return 'conflict';
          const counts = writer.countUpdate(updated);
          if (counts.length > 0) await run(...counts);
          return updated;
        });
      } catch (error) {
        if (errorCode(error) === exclusionViolation) return 'overlap';
        throw error;
      }
    },

    /**
     * Updates a booking whose new bay belongs to another facility: deletes it in the old one, inserts it in the new.
     */
    move: async (
      { facilityId: oldFacilityId, id, bayId: oldBayId, externalBookingId }: Booking,
      facilityId: string,
      change: BookingChange,
      etags: AllowedEtags,
      at: Date,
    ): Promise<UpdateOutcome> => {
      const writer = await selectWriter();
      const reference = referenceStatement(externalBookingId, referenceStatements.move, [id, facilityId]);
      const locks = [
        [oldFacilityId, [oldBayId]],
        [facilityId, [change.bayId]],
      ]
        .sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
        .map((bay): Statement => [bayStatements.lock, bay]);
      return atomically<UpdateOutcome>(true, async (run) => {
        const deletion = writer.delete({ facilityId: oldFacilityId, id }, etags);
        const deleted = rowOfLast(await run(...reference, ...locks, deletion));
        if (!deleted) throw new Rollback<UpdateOutcome>('conflict');
        const now = at.toISOString();
        // The column table lists the fields of an update, so a new field cannot be forgotten here.
        const moved: Booking = {
          ...deleted,
          ...pick(updateFields, change),
          facilityId,
          lastUpdatedAt: now > deleted.lastUpdatedAt ? now : deleted.lastUpdatedAt,
          version: deleted.version + 1,
        };
        const [inserted] = await run(...writer.insert(moved), ...writer.countDelete(deleted));
        if (inserted?.length === 0) throw new Rollback<UpdateOutcome>('conflict');
        return moved;
      });
    },

    /** Returns false if the booking does not exist, or has another ETag. */
    delete: async ({ facilityId, id, externalBookingId }: Booking, etags: AllowedEtags): Promise<boolean> => {
      const writer = await selectWriter();
      const reference = referenceStatement(externalBookingId, referenceStatements.delete, [id]);
      return atomically(writer.needsTransaction || reference.length > 0, async (run) => {
        const deletion = writer.delete({ facilityId, id }, etags);
        const deleted = rowOfLast(await run(...reference, deletion));
        if (!deleted) throw new Rollback(false);
        const counts = writer.countDelete(deleted);
        if (counts.length > 0) await run(...counts);
        return true;
      });
    },

    /** Why a bay cannot be booked, apart from the booking `exceptId`. Undefined if the bay does not exist. */
    findConflicts: async (
      { facilityId, bayId }: { readonly facilityId: string; readonly bayId: string },
      interval: { readonly start: Date; readonly end: Date } | undefined,
      exceptId: string | undefined,
    ): Promise<BayConflicts | undefined> => {
      const times = [interval?.start.toISOString() ?? null, interval?.end.toISOString() ?? null];
      const values = [facilityId, bayId, ...times, exceptId ?? null];
      return (await query<BayConflicts>(db, bookingReads.conflicts, values))[0];
    },

    isExternalIdUsed: async (externalBookingId: string): Promise<boolean> =>
      (await query(db, referenceStatements.find, [externalBookingId])).length > 0,
  };
}

/** The booking that the last of several statements returned. */
function rowOfLast(rows: readonly (readonly object[])[]): Booking | undefined {
  return rows.at(-1)?.[0] as Booking | undefined;
}

function referenceStatement(externalBookingId: string | null, sql: string, values: readonly string[]): Statement[] {
  return externalBookingId === null ? [] : [[sql, [externalBookingId, ...values]]];
}
