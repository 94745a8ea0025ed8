// How do bookings change? One statement where one suffices, else one transaction; always in the lock order idempotency → reference →
// bays by facility and id → booking. Errors are told by SQLSTATE and statement, since a spread table names no constraint.
import { type Database, errorCode, query, retryOnce } from '@bay-booking/service/database/database';
import { inTransaction, type Run, type Statement } from '@bay-booking/service/database/transaction';
import { createCachedFlag } from '../../database/cached-flag.ts';
import type { Booking, BookingChange } from '../booking.ts';
import { wireTypes } from './row-date-times.ts';
import { reads, writes } from './statements.ts';
import {
  type BookingRow,
  countOut,
  insertionOf,
  removalOf,
  toBooking,
  type UncountedRow,
  writeChange,
} from './writer.ts';

/** An answer to be kept for repetitions of its request. */
export interface KeptAnswer {
  readonly id: string;
  readonly requestHash: string;
  readonly answer: string;
  readonly forgetBefore: Date;
}

export type CreateOutcome = 'created' | 'duplicate' | 'refused' | 'repeated' | 'in flight';
export type ChangeOutcome = Booking | 'refused' | 'overlap';

export interface Obstacles {
  readonly bookable: boolean;
  readonly taken: boolean;
}

export type BookingStore = ReturnType<typeof createBookingStore>;

const lockTimedOut = '55P03';
const overlaps = '23P01';

class RolledBack extends Error {
  readonly outcome: Exclude<CreateOutcome, 'created'>;
  constructor(outcome: Exclude<CreateOutcome, 'created'>) {
    super(outcome);
    this.outcome = outcome;
  }
}

export function createBookingStore(db: Database) {
  const isSpread = createCachedFlag(db, reads.isSpread);
  return {
    find: async (facilities: readonly string[], id: string): Promise<Booking | undefined> => {
      const [row] = await query<BookingRow>(db, reads.find, [facilities, id], wireTypes);
      return row && toBooking(row);
    },

    /** `refused`: the bay is gone, not bookable or taken; `obstacles` tells which. */
    create: (booking: Booking, keep?: KeptAnswer): Promise<CreateOutcome> =>
      retryOnce(db, async () => {
        const insertion = insertionOf(booking, await isSpread());
        if (!keep && booking.externalBookingId === undefined && insertion.length === 1) {
          const [[sql, values]] = insertion;
          return (await query(db, sql, values)).length > 0 ? 'created' : 'refused';
        }
        try {
          await inTransaction(db, async (run) => {
            if (keep) await keepAnswer(run, booking, keep);
            const { externalBookingId, facilityId, id } = booking;
            const reference: Statement[] =
              externalBookingId === undefined ? [] : [[writes.createReference, [externalBookingId, facilityId, id]]];
            const made = await run(...reference, ...insertion);
            if (reference.length > 0 && made[0]?.length === 0) throw new RolledBack('duplicate');
            if (made[reference.length]?.length === 0) throw new RolledBack('refused');
          });
          return 'created';
        } catch (error) {
          if (error instanceof RolledBack) return error.outcome;
          throw error;
        }
      }),

    /** Within one facility. `refused`: booking or bay is not there, the bay is not bookable, or `tags` do not match. */
    update: async (
      facilityId: string,
      id: string,
      { bayId, userAlias, startDate, endDate }: BookingChange,
      tags: readonly string[] | undefined,
      at: Date,
    ): Promise<ChangeOutcome> => {
      const values = [facilityId, id, bayId, userAlias, startDate, endDate, at.toISOString(), tags ?? null];
      try {
        const spread = await isSpread();
        const row = await retryOnce(db, () => writeChange(db, values, spread));
        return row ? toBooking(row) : 'refused';
      } catch (error) {
        if (errorCode(error) === overlaps) return 'overlap';
        throw error;
      }
    },

    /** To a bay of another facility: facility_id is part of the key, so the row is taken out and put in again. */
    move: async (
      booking: Booking,
      facilityId: string,
      change: BookingChange,
      tags: readonly string[] | undefined,
      at: Date,
    ): Promise<ChangeOutcome> => {
      try {
        const spread = await isSpread();
        return await retryOnce(db, () =>
          inTransaction(db, async (run) => {
            const { externalBookingId, id } = booking;
            const reference: Statement[] =
              externalBookingId === undefined ? [] : [[writes.moveReference, [externalBookingId, id, facilityId]]];
            const bays = [
              [booking.facilityId, [booking.bayId]],
              [facilityId, [change.bayId]],
            ].sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
            const locks = bays.map((bay): Statement => [writes.lockBays, bay]);
            const removal = removalOf([booking.facilityId, id, tags ?? null], spread);
            const [row] = ((await run(...reference, ...locks, removal)).at(-1) ?? []) as UncountedRow[];
            if (!row) throw new RolledBack('refused');
            const old = toBooking(row);
            const now = at.toISOString();
            const lastUpdatedAt = now > old.lastUpdatedAt ? now : old.lastUpdatedAt;
            const moved = { ...old, ...change, facilityId, lastUpdatedAt, version: old.version + 1 };
            const [inserted] = await run(...insertionOf(moved, spread), ...(spread ? [countOut(row)] : []));
            if (inserted?.length === 0) throw new RolledBack('refused');
            return moved;
          }),
        );
      } catch (error) {
        if (error instanceof RolledBack) return 'refused';
        throw error;
      }
    },

    /** False if the booking is not there (any more), or `tags` do not match. */
    remove: (booking: Booking, tags: readonly string[] | undefined): Promise<boolean> =>
      retryOnce(db, async () => {
        const { facilityId, id, externalBookingId } = booking;
        const spread = await isSpread();
        const removal = removalOf([facilityId, id, tags ?? null], spread);
        if (externalBookingId === undefined && !spread) {
          const [sql, values] = removal;
          return (await query(db, sql, values)).length > 0;
        }
        const reference: Statement[] =
          externalBookingId === undefined ? [] : [[writes.removeReference, [externalBookingId, id]]];
        try {
          return await inTransaction(db, async (run) => {
            const [row] = ((await run(...reference, removal)).at(-1) ?? []) as UncountedRow[];
            if (!row) throw new RolledBack('refused');
            if (spread) await run(countOut(row));
            return true;
          });
        } catch (error) {
          if (error instanceof RolledBack) return false;
          throw error;
        }
      }),

    obstacles: async (
      facilityId: string,
      bayId: string,
      interval: { readonly start: Date; readonly end: Date } | undefined,
      except: string | undefined,
    ): Promise<Obstacles | undefined> => {
      const times = interval ? [interval.start.toISOString(), interval.end.toISOString()] : [null, null];
      return (await query<Obstacles>(db, reads.obstacles, [facilityId, bayId, ...times, except ?? null]))[0];
    },

    isReferenced: async (externalBookingId: string): Promise<boolean> =>
      (await query(db, reads.referenceOf, [externalBookingId])).length > 0,
  };
}

async function keepAnswer(run: Run, booking: Booking, keep: KeptAnswer): Promise<void> {
  const values = [keep.id, keep.requestHash, booking.facilityId, keep.answer, booking.createdAt];
  try {
    // Somebody else's uncommitted row with this key makes us wait: not for long, since the client is told to come back.
    const [, kept] = await run(
      ["set local lock_timeout = '1s'"],
      [writes.keepAnswer, [...values, keep.forgetBefore.toISOString()]],
      ['set local lock_timeout to default'],
    );
    if (kept?.length === 0) throw new RolledBack('repeated');
  } catch (error) {
    if (errorCode(error) === lockTimedOut) throw new RolledBack('in flight');
    throw error;
  }
}
