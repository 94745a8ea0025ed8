// Reads, creates, updates and deletes bookings.
//
// Every write is one transaction: it locks the affected bays, looks, decides and writes. All transactions lock rows in
// the same order: idempotency key, bays by facility and id, bookings, holds, external booking ids.
import {
  type Database,
  errorCode,
  type Queryable,
  query,
  Rollback,
  send,
  type Transaction,
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
import { intervalOf, type Times } from '../../time/interval.ts';
import { later } from '../../time/timestamps.ts';
import type { Booking, BookingChange, NewBooking } from '../resource.ts';
import {
  deleteBooking,
  findBooking,
  insertBookings,
  insertValues,
  lockBooking,
  references,
  stateOf,
  updateBooking,
  updateValues,
} from './columns.ts';

/** The request that writes. Its client is the author of the changes. */
export interface Sender {
  readonly caller: Caller;
  readonly requestId: string;
}

export interface Creation {
  /** Bookings of one facility. Either all of them are created or none. */
  readonly bookings: readonly [NewBooking, ...NewBooking[]];
  /** The holds that the bookings use up. */
  readonly holdIds: readonly string[];
  /** The response to store. Undefined if the request had no Idempotency-Key. */
  readonly response: NewResponse | undefined;
  readonly sender: Sender;
}

interface Write {
  readonly facilityId: string;
  readonly id: string;
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

/** If `times` is undefined, only the bay is checked. If `bay` is undefined, only the external id is checked. */
export interface RequestedBooking {
  readonly bay: Bay | undefined;
  readonly times: Times | undefined;
  readonly externalBookingId?: string | null | undefined;
}

interface CheckOptions extends Exceptions, ConflictOptions {
  /** Only bookings of these facilities make an external id used. Default: all bookings. */
  readonly referencesOf?: readonly string[] | undefined;
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

    /** Returns the conflicts of each booking, or an empty array if the bookings were created. */
    create: async ({ bookings, holdIds, response, sender }: Creation): Promise<readonly (readonly Conflict[])[]> => {
      const [{ facilityId }] = bookings;
      const bayIds = [...new Set(bookings.map(({ bayId }) => bayId))];
      const requestedBookings = bookings.map((booking) => ({ ...booking, bay: booking, times: booking }));
      const work = transaction<readonly (readonly Conflict[])[]>(db, async (tx) => {
        await storeResponse(tx, response, bookings[0]);
        const [, checked] = await Promise.all([
          lockBays(tx, facilityId, bayIds),
          check(tx, requestedBookings, { holdIds }),
        ]);
        const conflicts = checked.map((requested) => requested.conflicts);
        if (conflicts.some((ofBooking) => ofBooking.length > 0)) throw new Rollback(conflicts);
        const created = bookings.map((booking, index) => ({
          ...booking,
          locationId: checked[index]?.bay?.locationId as string,
        }));
        send(tx, insertBookings(created.length), insertValues(created));
        for (const holdId of holdIds) useHold(tx, facilityId, holdId);
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
        const externalIds = externalIdsOf(bookings);
        if (errorCode(error) !== uniqueViolation || externalIds.length === 0) return throwOverlap(error);
        const used = await findUsedIds(db, externalIds);
        return bookings.map(({ externalBookingId: id }) =>
          id !== null && (used.size === 0 || used.has(id)) ? [idUsed] : [],
        );
      }
    },

    /** Returns undefined if the facility does not have the booking. */
    update: (update: Update): Promise<UpdateOutcome | undefined> =>
      transaction<UpdateOutcome | undefined>(db, async (tx) => {
        const { facilityId, id, change, facilityOfBay, holdId, at, sender } = update;
        const holdIds = holdId === undefined ? [] : [holdId];
        const [, [current], bays] = await Promise.all([
          lockBays(tx, facilityOfBay, [change.bayId]),
          query<Booking>(tx, lockBooking, [facilityId, id]),
          readBayStates(tx, facilityOfBay, [change.bayId], intervalOf(change), { bookingId: id, holdIds }),
        ]);
        if (!current) return undefined;
        update.check(current);
        const bay = bays.get(change.bayId);
        const conflicts = findConflicts(bay, intervalOf(change), {
          ignoresHoursAndClosures: keepsBayAndTimes(current, change),
        });
        if (!bay || conflicts.length > 0) return { booking: current, conflicts };
        const updated: Booking = {
          ...current,
          ...change,
          metadata: change.metadata === undefined ? current.metadata : change.metadata,
          // A group is at one facility.
          groupId: facilityOfBay === facilityId ? current.groupId : null,
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
        // Citus cannot change a row's facility, which decides which node has the row.
        send(tx, deleteBooking, [facilityId, id]);
        send(tx, insertBookings(1), insertValues([updated]));
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
        deleteBookings(tx, [current], at, sender);
        return current;
      }),

    /**
     * Returns the conflicts of each requested booking without a lock: for a request that writes nothing or has other
     * errors too. The response can then report all errors.
     */
    findConflicts: (
      requestedBookings: readonly RequestedBooking[],
      options: CheckOptions,
    ): Promise<readonly (readonly Conflict[])[]> =>
      transaction(db, async (tx) => (await check(tx, requestedBookings, options)).map(({ conflicts }) => conflicts)),
  };
}

/** The transaction must have locked the bookings. */
export function deleteBookings(tx: Transaction, bookings: readonly Booking[], at: Date, sender: Sender): void {
  for (const { facilityId, id } of bookings) send(tx, deleteBooking, [facilityId, id]);
  const deletions = bookings.map((booking) => changeOf(booking, undefined, later(booking.lastUpdatedAt, at)));
  appendChanges(tx, deletions, authorOf(sender));
  for (const id of externalIdsOf(bookings)) send(tx, references.delete, [id]);
}

/** Finds each requested booking's bay and conflicts. The bookings of one request also conflict with each other. */
async function check(tx: Transaction, requestedBookings: readonly RequestedBooking[], options: CheckOptions) {
  const externalIds = externalIdsOf(requestedBookings);
  const placeOf = ({ bay, times }: RequestedBooking) => `${times?.startDate} ${times?.endDate} ${bay?.facilityId}`;
  // Requested bookings for the same times are read together.
  const places = [...Map.groupBy(requestedBookings, placeOf)].map(async ([place, ofPlace]) => {
    const times = ofPlace[0]?.times;
    const bays = ofPlace.flatMap(({ bay }) => bay ?? []);
    const bayIds = [...new Set(bays.map(({ bayId }) => bayId))];
    const interval = times && intervalOf(times);
    const states = bays[0] && (await readBayStates(tx, bays[0].facilityId, bayIds, interval, options));
    return [place, states] as const;
  });
  const [used, states] = await Promise.all([findUsedIds(tx, externalIds, options.referencesOf), Promise.all(places)]);
  const statesByPlace = new Map(states);
  return requestedBookings.map((requested) => {
    const { times, externalBookingId: id } = requested;
    const isUsed = id && (used.has(id) || externalIds.indexOf(id) !== externalIds.lastIndexOf(id));
    if (!requested.bay) return { bay: undefined, conflicts: isUsed ? [idUsed] : [] };
    const { bayId } = requested.bay;
    const bay = statesByPlace.get(placeOf(requested))?.get(bayId);
    const others = requestedBookings.filter((other) => other !== requested && other.bay?.bayId === bayId);
    const bookings = others.flatMap((other) => (other.times ? [intervalOf(other.times)] : []));
    const conflicts = [
      ...(isUsed ? [idUsed] : []),
      ...findConflicts(
        bay && { ...bay, bookings: [...bay.bookings, ...bookings] },
        times && intervalOf(times),
        options,
      ),
    ];
    return { bay, conflicts };
  });
}

/** In order, because all transactions write references in the same order. */
function externalIdsOf(
  bookings: readonly { readonly externalBookingId?: string | null | undefined }[],
): readonly string[] {
  return bookings.flatMap(({ externalBookingId }) => externalBookingId ?? []).sort();
}

async function findUsedIds(
  on: Queryable,
  externalIds: readonly string[],
  facilities?: readonly string[],
): Promise<ReadonlySet<string | null>> {
  if (externalIds.length === 0) return new Set();
  const rows = await query<{ id: string; facilityId: string }>(on, references.find, [externalIds]);
  return new Set(rows.filter((row) => facilities?.includes(row.facilityId) !== false).map(({ id }) => id));
}

function authorOf({ caller: { clientId, subject }, requestId }: Sender): Author {
  return { clientId, subject, requestId };
}

/**
 * The table's constraint is the last line of defence against overlaps. A violation is a defect, so the error has a
 * cause, which is logged.
 */
function throwOverlap(error: unknown): never {
  if (errorCode(error) === exclusionViolation) throw apiError('BOOK00002', { cause: error });
  throw error;
}

export function keepsBayAndTimes(current: Booking, { bayId, startDate, endDate }: Partial<Bay & Times>): boolean {
  return bayId === current.bayId && startDate === current.startDate && endDate === current.endDate;
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
