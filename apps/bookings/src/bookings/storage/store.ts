// Reads, creates, updates and deletes bookings.
//
// Every write is one transaction: it locks the bays of which it takes time, looks, decides and writes. All transactions
// lock rows in the same order: idempotency key, bays by facility and id, bookings, holds, external booking ids.
import {
  type Database,
  errorCode,
  type Queryable,
  query,
  Rollback,
  send,
  transaction,
} from '@bay-booking/service/database/database';
import type { Caller } from '../../auth/caller.ts';
import { type Exceptions, readBayStates } from '../../availability/bay-states.ts';
import type { Bay } from '../../availability/reservation.ts';
import { type Conflict, type ConflictOptions, findConflicts } from '../../availability/rule.ts';
import { type Author, appendChanges, type BookingChange as Change } from '../../changes/log.ts';
import { apiError } from '../../errors.ts';
import { useHold } from '../../holds/store.ts';
import { type NewResponse, storeResponse } from '../../idempotency/store.ts';
import { lockBays } from '../../places/locks.ts';
import { type Interval, intervalOf, type Times } from '../../time/interval.ts';
import type { Booking, BookingChange, NewBooking } from '../resource.ts';
import {
  deleteBooking,
  findBooking,
  insertBooking,
  insertValues,
  lockBooking,
  references,
  stateOf,
  updateBooking,
  updateValues,
} from './columns.ts';

/** The request that writes. Its client is the author of the changes. */
interface Sender {
  readonly caller: Caller;
  readonly requestId: string;
}

export interface Creation {
  /** Bookings of one facility. Either all of them are created or none. */
  readonly bookings: readonly [NewBooking, ...NewBooking[]];
  /** The hold that the bookings use up. */
  readonly holdId: string | undefined;
  /** The response to store. Undefined if the request had no Idempotency-Key. */
  readonly response: NewResponse | undefined;
  readonly sender: Sender;
}

interface Write {
  readonly facilityId: string;
  readonly id: string;
  /** The time of the request. */
  readonly at: Date;
  readonly sender: Sender;
  /** Gets the locked booking. If it throws an error, nothing is written. */
  readonly check: (current: Booking) => void;
}

export interface Update extends Write {
  readonly change: BookingChange;
  readonly facilityOfBay: string;
  /** The hold that the booking uses up. */
  readonly holdId: string | undefined;
}

export interface UpdateOutcome {
  /** The booking after the update, or before it if there are conflicts. */
  readonly booking: Booking;
  readonly conflicts: readonly Conflict[];
}

export type BookingStore = ReturnType<typeof createBookingStore>;

// Errors are recognised by SQLSTATE and not by the name of a constraint, because Citus renames constraints.
const uniqueViolation = '23505';
const exclusionViolation = '23P01';

const idUsed: Conflict = { code: 'BOOK00001', moreInfo: '' };

export function createBookingStore(db: Database) {
  return {
    find: async (facilities: readonly string[], id: string): Promise<Booking | undefined> =>
      (await query<Booking>(db, findBooking, [facilities, id]))[0],

    /** Returns the conflicts of each booking, or no list if the bookings were created. */
    create: async ({ bookings, holdId, response, sender }: Creation): Promise<readonly (readonly Conflict[])[]> => {
      const [{ facilityId }] = bookings;
      const bayIds = [...new Set(bookings.map(({ bayId }) => bayId))];
      const externalIds = bookings.map(({ externalBookingId }) => externalBookingId).filter((id) => id !== null);
      const work = transaction<readonly (readonly Conflict[])[]>(db, async (tx) => {
        await storeResponse(tx, response, bookings[0]);
        const [, bays, used] = await Promise.all([
          lockBays(tx, facilityId, bayIds),
          readBayStates(tx, facilityId, bayIds, hullOf(bookings), { holdId }),
          findUsedIds(tx, externalIds),
        ]);
        const conflicts = bookings.map((booking) => [
          ...(used.has(booking.externalBookingId) ? [idUsed] : []),
          ...findConflicts(bays.get(booking.bayId), intervalOf(booking)),
        ]);
        if (conflicts.some((ofBooking) => ofBooking.length > 0)) throw new Rollback(conflicts);
        const created = bookings.map((booking) => ({
          ...booking,
          locationId: bays.get(booking.bayId)?.locationId as string,
        }));
        for (const booking of created) send(tx, insertBooking, insertValues(booking));
        if (holdId !== undefined) useHold(tx, facilityId, holdId);
        const changes = created.map((booking) => changeOf(undefined, booking, booking.createdAt));
        appendChanges(tx, changes, authorOf(sender));
        for (const { externalBookingId, id } of created.toSorted(byExternalId))
          if (externalBookingId !== null) send(tx, references.insert, [externalBookingId, facilityId, id]);
        return [];
      });
      try {
        return await work;
      } catch (error) {
        // A request for another bay has used the external booking id after this transaction looked for it.
        if (errorCode(error) === uniqueViolation && externalIds.length > 0) return bookings.map(() => [idUsed]);
        return throwOverlap(error);
      }
    },

    /** Returns undefined if the facility does not have the booking. */
    update: (update: Update): Promise<UpdateOutcome | undefined> =>
      transaction<UpdateOutcome | undefined>(db, async (tx) => {
        const { facilityId, id, change, facilityOfBay, holdId, at, sender, check } = update;
        const [, [current], bays] = await Promise.all([
          lockBays(tx, facilityOfBay, [change.bayId]),
          query<Booking>(tx, lockBooking, [facilityId, id]),
          readBayStates(tx, facilityOfBay, [change.bayId], intervalOf(change), { bookingId: id, holdId }),
        ]);
        if (!current) return undefined;
        check(current);
        const bay = bays.get(change.bayId);
        const conflicts = findConflicts(bay, intervalOf(change), {
          ignoresHoursAndClosures: keepsBayAndTimes(current, change),
        });
        if (!bay || conflicts.length > 0) return { booking: current, conflicts };
        const updated: Booking = {
          ...current,
          ...change,
          facilityId: facilityOfBay,
          locationId: bay.locationId,
          lastUpdatedAt: later(current.lastUpdatedAt, at),
          version: current.version + 1,
        };
        if (holdId !== undefined) useHold(tx, facilityOfBay, holdId);
        if (facilityOfBay === facilityId) {
          send(tx, updateBooking, updateValues(updated));
          appendChanges(tx, [changeOf(current, updated, updated.lastUpdatedAt)], authorOf(sender));
          return { booking: updated, conflicts };
        }
        // Citus cannot change the facility of a row, because the facility decides on which node the row is.
        send(tx, deleteBooking, [facilityId, id]);
        send(tx, insertBooking, insertValues(updated));
        const changes = [
          { ...changeOf(current, undefined, updated.lastUpdatedAt), otherFacilityId: facilityOfBay },
          { ...changeOf(undefined, updated, updated.lastUpdatedAt), otherFacilityId: facilityId },
        ];
        appendChanges(tx, changes, authorOf(sender));
        if (current.externalBookingId !== null) send(tx, references.move, [current.externalBookingId, facilityOfBay]);
        return { booking: updated, conflicts };
      }).catch(throwOverlap),

    /** Returns the deleted booking, or undefined if the facility does not have it. */
    delete: ({ facilityId, id, at, sender, check }: Write): Promise<Booking | undefined> =>
      transaction(db, async (tx) => {
        const [current] = await query<Booking>(tx, lockBooking, [facilityId, id]);
        if (!current) return undefined;
        check(current);
        send(tx, deleteBooking, [facilityId, id]);
        const deletion = changeOf(current, undefined, later(current.lastUpdatedAt, at));
        appendChanges(tx, [deletion], authorOf(sender));
        if (current.externalBookingId !== null) send(tx, references.delete, [current.externalBookingId]);
        return current;
      }),

    /** Finds the conflicts of a request that has other errors too, so that the response can report all of them. */
    findConflicts: async (
      { facilityId, bayId }: Bay,
      times: Times | undefined,
      {
        externalBookingId,
        ...options
      }: Exceptions & ConflictOptions & { readonly externalBookingId?: string | undefined },
    ): Promise<readonly Conflict[]> => {
      const interval = times && intervalOf(times);
      const bays = await readBayStates(db, facilityId, [bayId], interval, options);
      const used = await findUsedIds(db, externalBookingId === undefined ? [] : [externalBookingId]);
      return [...(used.size > 0 ? [idUsed] : []), ...findConflicts(bays.get(bayId), interval, options)];
    },
  };
}

async function findUsedIds(on: Queryable, externalIds: readonly string[]): Promise<ReadonlySet<string | null>> {
  if (externalIds.length === 0) return new Set();
  return new Set((await query<{ id: string }>(on, references.find, [externalIds])).map(({ id }) => id));
}

function authorOf({ caller: { clientId, subject }, requestId }: Sender): Author {
  return { clientId, subject, requestId };
}

/**
 * A constraint of the table is the last line of defence against overlaps. Its violation is a defect, so the error has a
 * cause, which is logged.
 */
function throwOverlap(error: unknown): never {
  if (errorCode(error) === exclusionViolation) throw apiError('BOOK00002', { cause: error });
  throw error;
}

export function keepsBayAndTimes(current: Booking, { bayId, startDate, endDate }: Partial<Bay & Times>): boolean {
  return bayId === current.bayId && startDate === current.startDate && endDate === current.endDate;
}

function hullOf(bookings: readonly NewBooking[]): Interval {
  const intervals = bookings.map(intervalOf);
  return {
    start: Math.min(...intervals.map(({ start }) => start)),
    end: Math.max(...intervals.map(({ end }) => end)),
  };
}

/** `lastUpdatedAt` never decreases, even if the clocks of two instances differ. */
function later(lastUpdatedAt: string, at: Date): string {
  const now = at.toISOString();
  return now > lastUpdatedAt ? now : lastUpdatedAt;
}

function byExternalId(a: NewBooking, b: NewBooking): number {
  return (a.externalBookingId ?? '') < (b.externalBookingId ?? '') ? -1 : 1;
}

function changeOf(before: Booking | undefined, after: Booking | undefined, at: string): Change {
  const { facilityId, id, version } = (after ?? before) as Booking;
  return {
    facilityId,
    bookingId: id,
    // A deletion counts as one more version.
    version: after ? version : version + 1,
    at,
    action: !before ? 'created' : after ? 'updated' : 'deleted',
    before: before ? stateOf(before) : null,
    after: after ? stateOf(after) : null,
  };
}
