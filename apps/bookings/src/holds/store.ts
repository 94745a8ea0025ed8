// Reads and writes holds.
//
// Transactions that create a hold or a booking for the same bay run one after the other, because both lock the row of
// the bay. A new or extended hold increases bay.held_until. The statement that writes a booking checks this column
// (bookings/storage/statements.ts).
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, query } from '@bay-booking/service/database/database';
import type { Caller } from '../auth/caller.ts';
import { bayStatements, bookingReads } from '../bookings/storage/statements.ts';
import type { BayConflicts } from '../bookings/storage/store.ts';
import { inTransaction, retryOnce } from '../database/in-transaction.ts';
import { outcomeOf, Rollback } from '../database/rollback.ts';
import { type NewResponse, type StoreResponseOutcome, storeResponse } from '../idempotency/store.ts';
import { createFacilityLookup, isUuid } from '../places/tagged-id.ts';
import type { FoundHold, Hold } from './hold.ts';

export const holdReads = {
  /** Reads the time of the database, with milliseconds. */
  clock: 'select clock_timestamp()::timestamptz(3) as now',

  /**
   * Takes 60 µs. With `any($1)` in place of `= $1`, PostgreSQL would plan the statement again for every execution,
   * which takes 250 µs.
   */
  find: `select hold.facility_id as "facilityId", hold.id, bay_id as "bayId", start_date as "startDate",
  end_date as "endDate", expires_at as "expiresAt", created_at as "createdAt", correlation_id as "correlationId",
  bay.held_until as "bayHeldUntil"
from booking_hold hold join bay on bay.facility_id = hold.facility_id and bay.id = bay_id
where hold.facility_id = $1 and hold.id = $2::uuid and client_id = $3 and subject = $4
  and expires_at > clock_timestamp()`,

  /** Counts the live holds of a client and subject over all facilities. */
  count: `select count(*)::int as holds from booking_hold
where client_id = $1 and subject = $2 and expires_at > clock_timestamp()`,

  /** Reads a live hold and the time of the database, in a transaction that has locked the bay of the hold. */
  findLocked: `select id, created_at as "createdAt", clock_timestamp()::timestamptz(3) as now from booking_hold
where facility_id = $1 and id = $2::uuid and expires_at > clock_timestamp()`,

  findExpired: 'select facility_id as "facilityId", id from booking_hold where expires_at <= now() limit $1',
} as const;

export const holdWrites = {
  insert: `insert into booking_hold (facility_id, id, bay_id, start_date, end_date, expires_at, created_at,
  correlation_id, client_id, subject)
values ($1, $2::uuid, $3, $4::timestamptz, $5::timestamptz, $6::timestamptz, $7::timestamptz, $8, $9, $10)`,

  extend: 'update booking_hold set expires_at = $3::timestamptz where facility_id = $1 and id = $2::uuid',

  /**
   * Sets `held_until` of bay $2 to $3, the expiry of a new or extended hold. If `held_until` is already later, it
   * increases by 1 ms. A statement that writes a booking can therefore find out that a hold was added or extended, even
   * if another hold expires later. The conversion to UTC is needed because Citus allows only immutable functions in
   * updates.
   */
  markBay: `update bay set held_until = greatest($3::timestamptz,
  (held_until at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC') where facility_id = $1 and id = $2`,

  delete: 'delete from booking_hold where facility_id = $1 and id = $2::uuid returning id',

  deleteExpired: 'delete from booking_hold where facility_id = $1 and id = any($2::uuid[]) returning id',
} as const;

/**
 * Locks the row of a client and subject, so that only one request at a time counts their holds and adds one. The
 * update changes no value. It is needed to lock a row that already exists.
 */
export const lockClient = `insert into booking_hold_client (id) values ($1)
on conflict (id) do update set id = excluded.id returning id`;

export type CreateHoldOutcome = 'created' | 'conflict' | 'too many holds' | Exclude<StoreResponseOutcome, 'stored'>;
export type ExtendOutcome = Hold | 'gone' | 'too long';
export type FindHold = (id: string, caller: Caller) => Promise<FoundHold | undefined>;
export type HoldStore = ReturnType<typeof createHoldStore>;

/** The maximum number of expired holds that are deleted before the next pause. */
const deleteBatch = 1_000;

interface Count {
  readonly holds: number;
}

interface LockedBay {
  readonly bookable: boolean;
  readonly version: number;
}

interface LockedHold {
  readonly createdAt: string;
  /** The time of the database. */
  readonly now: string;
}

export interface HoldCreation {
  readonly caller: Caller;
  /** The version of the rules that permit the interval of the hold. */
  readonly rulesVersion: number;
  readonly maxHolds: number;
  /** The response to store. Undefined if the request had no Idempotency-Key. */
  readonly response: NewResponse | undefined;
}

export function createHoldStore(db: Database) {
  const findLikelyFacilities = createFacilityLookup();
  const find: FindHold = async (id, { facilities, clientId, subject }) => {
    if (!isUuid(id)) return undefined;
    // The id of a hold ends with the tag of the facility in which the hold was created (bookings/booking-id.ts). A hold
    // never moves to another facility. The loop usually has one step, because few facilities have the same tag.
    for (const facilityId of findLikelyFacilities(facilities, id)) {
      const [hold] = await query<FoundHold>(db, holdReads.find, [facilityId, id, clientId, subject]);
      if (hold) return hold;
    }
    return undefined;
  };

  return {
    find,

    /** Returns the time of the database, whose clock decides when holds expire. */
    now: async (): Promise<string> => {
      const [row] = await query<{ now: string }>(db, holdReads.clock, []);
      if (!row) throw new Error('the database returned no time');
      return row.now;
    },

    count: async ({ clientId, subject }: Caller): Promise<number> =>
      (await query<Count>(db, holdReads.count, [clientId, subject]))[0]?.holds ?? 0,

    /**
     * Creates a hold. The transaction locks the idempotency key, then the row of the client, and then the bay. The
     * transactions that write bookings lock the key and the bay in the same order, so no deadlock can occur. They do
     * not lock the row of the client.
     */
    create: (hold: Hold, { caller, rulesVersion, maxHolds, response }: HoldCreation): Promise<CreateHoldOutcome> =>
      outcomeOf(
        retryOnce(db, () =>
          inTransaction<CreateHoldOutcome>(db, async (run) => {
            const { facilityId, bayId, startDate, endDate } = hold;
            const { clientId, subject } = caller;
            const stored = await storeResponse(run, response, hold);
            if (stored !== 'stored') throw new Rollback(stored);
            // A new hold must not overlap any booking or hold, so the search for conflicts ignores none of them.
            const ignoredBooking = null;
            const ignoredHold = null;
            const [, [counted], [bay], [conflicts]] = await run<[object[], Count[], LockedBay[], BayConflicts[]]>(
              [lockClient, [clientKey(caller)]],
              [holdReads.count, [clientId, subject]],
              [bayStatements.lock, [facilityId, [bayId]]],
              [bookingReads.conflicts, [facilityId, bayId, startDate, endDate, ignoredBooking, ignoredHold]],
            );
            if (!counted || counted.holds >= maxHolds) throw new Rollback('too many holds');
            // After the outcome `conflict`, create.ts finds out what the conflict is.
            if (!bay?.bookable || bay.version !== rulesVersion) throw new Rollback('conflict');
            if (!conflicts || conflicts.isOverlapping || conflicts.heldUntil !== null) throw new Rollback('conflict');
            await run(
              [holdWrites.insert, [...valuesOf(hold), clientId, subject]],
              [holdWrites.markBay, [facilityId, bayId, hold.expiresAt]],
            );
            return 'created';
          }),
        ),
      ),

    /**
     * Sets the expiry of a hold to `seconds` from now. The outcome is 'too long' if the new expiry would be more than
     * `maxSeconds` after the creation of the hold, and 'gone' if the hold has expired or was deleted.
     */
    extend: (hold: Hold, seconds: number, maxSeconds: number): Promise<ExtendOutcome> =>
      retryOnce(db, () =>
        inTransaction(db, async (run): Promise<ExtendOutcome> => {
          const { facilityId, id, bayId } = hold;
          const [, [found]] = await run<[object[], LockedHold[]]>(
            [bayStatements.lock, [facilityId, [bayId]]],
            [holdReads.findLocked, [facilityId, id]],
          );
          if (!found) return 'gone';
          const expiry = Date.parse(found.now) + seconds * 1_000;
          if (expiry > Date.parse(found.createdAt) + maxSeconds * 1_000) return 'too long';
          const expiresAt = new Date(expiry).toISOString();
          await run(
            [holdWrites.extend, [facilityId, id, expiresAt]],
            [holdWrites.markBay, [facilityId, bayId, expiresAt]],
          );
          return { ...hold, expiresAt };
        }),
      ),

    /** Returns false if the hold does not exist. */
    delete: async ({ facilityId, id }: Hold): Promise<boolean> =>
      (await query(db, holdWrites.delete, [facilityId, id])).length > 0,

    /**
     * Deletes expired holds in batches, and returns how many were deleted. During the pause between two batches,
     * requests get the CPU time.
     */
    deleteExpired: async (pauseMilliseconds = 200): Promise<number> => {
      let deleted = 0;
      for (;;) {
        // An expired hold cannot be extended, so the expiry is not checked again when the hold is deleted. The holds of
        // each facility are deleted by one statement, because their rows are on one node of a distributed database.
        const expired = await query<{ facilityId: string; id: string }>(db, holdReads.findExpired, [deleteBatch]);
        for (const [facilityId, holds] of Map.groupBy(expired, (hold) => hold.facilityId)) {
          const ids = holds.map(({ id }) => id);
          deleted += (await query(db, holdWrites.deleteExpired, [facilityId, ids])).length;
        }
        if (expired.length < deleteBatch) return deleted;
        // With `ref: false`, the pause does not keep a process running that is otherwise finished.
        await sleep(pauseMilliseconds, undefined, { ref: false });
      }
    },
  };
}

/** Returns the id of the row in booking_hold_client that is locked while this caller creates a hold. */
function clientKey({ clientId, subject }: Caller): string {
  return createHash('sha256')
    .update(JSON.stringify([clientId, subject]))
    .digest('base64url');
}

function valuesOf({ facilityId, id, bayId, startDate, endDate, expiresAt, createdAt, correlationId }: Hold): unknown[] {
  return [facilityId, id, bayId, startDate, endDate, expiresAt, createdAt, correlationId];
}
