// Reads, creates, updates, moves and deletes bookings.
//
// Every write is atomic. Concurrent writes cannot deadlock, because each locks in the same order: idempotency key,
// external booking id, bays by facility and id, booking. Errors of PostgreSQL are recognised by SQLSTATE, because a
// distributed table renames its constraints.
import { type Database, errorCode, query, retryOnce } from '@bay-booking/service/database/database';
import { inTransaction, type Run, type Statement } from '@bay-booking/service/database/transaction';
import type { Booking, BookingChange } from '../booking.ts';
import { pick, updateFields } from './columns.ts';
import { type NewResponse, type StoreResponseOutcome, storeResponse } from './idempotency-store.ts';
import { type BookingKey, bayStatements, bookingReads, referenceStatements } from './statements.ts';
import { isoTimestamps } from './timestamps.ts';
import { createWriterSelection } from './writer-selection.ts';

/**
 * `conflict`: the booking or its bay does not exist, the bay is not bookable or not free, or the ETag has changed.
 * `findConflicts` tells more about the bay.
 */
export type Conflict = 'conflict';
export type CreateOutcome = 'created' | 'duplicate reference' | Conflict | Exclude<StoreResponseOutcome, 'stored'>;
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
        const [inserted] = rows.slice(reference.length);
        if (reference.length > 0 && rows[0]?.length === 0) throw new Rollback<CreateOutcome>('duplicate reference');
        if (inserted?.length === 0) throw new Rollback<CreateOutcome>('conflict');
        return 'created';
      });
    },

    /** Updates a booking whose old and new bay belong to the same facility. */
    update: async (
      key: BookingKey,
      change: BookingChange,
      etags: readonly string[] | undefined,
      at: Date,
    ): Promise<UpdateOutcome> => {
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
      etags: readonly string[] | undefined,
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
        const [deleted] = ((await run(...reference, ...locks, deletion)).at(-1) ?? []) as Booking[];
        if (!deleted) throw new Rollback<UpdateOutcome>('conflict');
        const now = at.toISOString();
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
    delete: async (
      { facilityId, id, externalBookingId }: Booking,
      etags: readonly string[] | undefined,
    ): Promise<boolean> => {
      const writer = await selectWriter();
      const reference = referenceStatement(externalBookingId, referenceStatements.delete, [id]);
      return atomically(writer.needsTransaction || reference.length > 0, async (run) => {
        const deletion = writer.delete({ facilityId, id }, etags);
        const [deleted] = ((await run(...reference, deletion)).at(-1) ?? []) as Booking[];
        if (!deleted) throw new Rollback(false);
        const counts = writer.countDelete(deleted);
        if (counts.length > 0) await run(...counts);
        return true;
      });
    },

    /** Why a bay cannot be booked. Undefined if the bay does not exist. The booking `exceptId` does not count. */
    findConflicts: async (
      { facilityId, bayId }: { readonly facilityId: string; readonly bayId: string },
      interval: { readonly start: Date; readonly end: Date } | undefined,
      exceptId: string | undefined,
    ): Promise<BayConflicts | undefined> => {
      const times = [interval?.start.toISOString() ?? null, interval?.end.toISOString() ?? null];
      const values = [facilityId, bayId, ...times, exceptId ?? null];
      return (await query<BayConflicts>(db, bookingReads.conflicts, values))[0];
    },

    isReferenced: async (externalBookingId: string): Promise<boolean> =>
      (await query(db, referenceStatements.find, [externalBookingId])).length > 0,
  };
}

function referenceStatement(externalBookingId: string | null, sql: string, values: readonly string[]): Statement[] {
  return externalBookingId === null ? [] : [[sql, [externalBookingId, ...values]]];
}
