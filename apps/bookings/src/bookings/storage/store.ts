// Reads and writes bookings.
//
// Every write is one transaction: it locks the affected bays, looks, decides and writes. All transactions lock rows in
// the same order (docs/decisions.md, "Double bookings").
import {
  type Database,
  errorCode,
  query,
  Rollback,
  send,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import { type NewResponse, storeResponse } from '@bay-booking/service/idempotency';
import type { Caller } from '../../auth/caller.ts';
import { lockBays } from '../../availability/bay-states.ts';
import type { Conflict } from '../../availability/rule.ts';
import { type BookingChange, changeValues } from '../../changes/log.ts';
import { apiError } from '../../errors.ts';
import { useHold } from '../../holds/store.ts';
import { later } from '../../time/timestamps.ts';
import type { Booking, BookingUpdate, Draft, NewBooking } from '../booking.ts';
import {
  deleteBookings,
  findGroup,
  insertBookings,
  insertValues,
  lockBooking,
  lockBookingsOfGroup,
  references,
  selectBooking,
  selectBookingAtSome,
  stateOf,
  updateBookings,
  updateValues,
} from './columns.ts';
import { externalIdsOf, findUsedIds, idUsed, type LookOptions, look, type Requested } from './conflicts.ts';

/** The bookings that a request wants to write: all of them or none. */
export interface Writes {
  /** The facility of all bays. Undefined if the request only deletes. */
  readonly facilityOfBays?: string | undefined;
  readonly create?: readonly NewBooking[];
  readonly update?: readonly BookingUpdate[];
  /** Ids of bookings. */
  readonly delete?: readonly string[];
  /** Locks the existing bookings. */
  readonly lock?: (tx: Transaction) => Promise<readonly Booking[]>;
  /**
   * Gets the locked bookings. If it throws an error, nothing is written. If it returns false, the request is based on
   * an earlier state.
   */
  readonly check?: (current: readonly Booking[]) => boolean;
  /** The holds that the bookings use up. */
  readonly holdIds?: readonly string[];
  readonly at: Date;
  /** The request that writes. Its client is the author of the changes. */
  readonly sender: { readonly caller: Caller; readonly requestId: string };
  /** The response to store. Undefined if the request had no Idempotency-Key. */
  readonly response?: NewResponse | undefined;
  /** Whether only conflicts are looked for. External ids of other facilities are then not reported. */
  readonly dryRun?: boolean | undefined;
}

interface Outcome {
  /** The created bookings, then the updated ones. If there are conflicts, only those to update, as they are stored. */
  readonly bookings: readonly Booking[];
  /** The conflicts of each booking to create, then of each one to update. Empty if no booking has one. */
  readonly conflicts: readonly (readonly Conflict[])[];
}

export type BookingStore = ReturnType<typeof createBookingStore>;

// Errors are recognised by SQLSTATE and not by the name of a constraint, because Citus renames constraints.
const uniqueViolation = '23505';
const exclusionViolation = '23P01';

export function createBookingStore(db: Database) {
  return {
    find: async (facilities: readonly string[], id: string): Promise<Booking | undefined> => {
      const [first, ...others] = facilities;
      const [found] =
        others.length === 0
          ? await query<Booking>(db, selectBooking, [first, id])
          : await query<Booking>(db, selectBookingAtSome, [facilities, id]);
      return found;
    },

    findGroup: (facilityId: string, id: string): Promise<readonly Booking[]> =>
      query<Booking>(db, findGroup, [facilityId, id]),

    /**
     * Writes all bookings, or none if one has a conflict. Returns undefined if a booking to update or delete is not
     * among the locked ones, for example because another request has moved it, or if `check` returns false.
     */
    write: async (writes: Writes): Promise<Outcome | undefined> => {
      try {
        return await transaction(db, (tx) => write(tx, writes));
      } catch (error) {
        // A request for another bay has used the external booking id after this transaction looked for it.
        const { create = [] } = writes;
        const externalIds = externalIdsOf(create);
        if (errorCode(error) !== uniqueViolation || externalIds.length === 0) return throwOverlap(error);
        const used = await findUsedIds(db, externalIds);
        const conflicts = create.map(({ externalBookingId: id }) =>
          id !== null && (used.size === 0 || used.has(id)) ? [idUsed] : [],
        );
        return { bookings: [], conflicts };
      }
    },

    /**
     * Returns the conflicts of each draft without a lock: for a request that writes nothing or has other errors too.
     * The response can then report all errors.
     */
    findConflicts: (drafts: readonly Draft[], options: LookOptions): Promise<readonly (readonly Conflict[])[]> =>
      transaction(db, async (tx) => {
        const { conflictsOf } = await look(tx, drafts, options);
        return drafts.map(({ current }, index) => conflictsOf(index, current));
      }),
  };
}

export const lockOne =
  (facilityId: string, id: string) =>
  (tx: Transaction): Promise<readonly Booking[]> =>
    query<Booking>(tx, lockBooking, [facilityId, id]);

export const lockGroup =
  (facilityId: string, id: string) =>
  (tx: Transaction): Promise<readonly Booking[]> =>
    query<Booking>(tx, lockBookingsOfGroup, [facilityId, id]);

async function write(tx: Transaction, writes: Writes): Promise<Outcome | undefined> {
  const { facilityOfBays: facilityId = '', create = [], update = [], delete: deleted = [], check, sender } = writes;
  const { holdIds = [], dryRun } = writes;
  const [first] = create;
  if (first) await storeResponse(tx, writes.response, first);
  const requested: readonly Requested[] = [
    ...create.map((booking) => ({ bay: booking, times: booking, body: booking })),
    ...update.map((booking) => ({
      id: booking.id,
      bay: { facilityId, bayId: booking.bayId },
      times: booking,
      body: {},
    })),
  ];
  const bayIds = [...new Set(requested.flatMap(({ bay }) => bay?.bayId ?? []))];
  const bookingIds = [...update.map(({ id }) => id), ...deleted];
  const [, locked = [], { bayOf, conflictsOf }] = await Promise.all([
    bayIds.length === 0 ? undefined : lockBays(tx, facilityId, bayIds),
    writes.lock?.(tx),
    look(tx, requested, { bookingIds, holdIds, referencesOf: dryRun ? sender.caller.facilities : undefined }),
  ]);
  const byId = new Map(locked.map((booking) => [booking.id, booking]));
  if (bookingIds.some((id) => !byId.has(id)) || check?.(locked) === false) return undefined;
  const currentOf = (id: string) => byId.get(id) as Booking;
  const conflicts = requested.map(({ id }, index) => conflictsOf(index, id === undefined ? undefined : currentOf(id)));
  const hasConflicts = conflicts.some((ofBooking) => ofBooking.length > 0);
  if (hasConflicts || dryRun) {
    const bookings = update.map(({ id }) => currentOf(id));
    throw new Rollback<Outcome>({ bookings, conflicts: hasConflicts ? conflicts : [] });
  }
  const placeOf = (index: number) => ({ facilityId, locationId: bayOf(index)?.locationId as string });
  const created = create.map((booking, index) => ({ ...booking, ...placeOf(index) }));
  const updated = update.map((booking, index) =>
    updatedBooking(currentOf(booking.id), { ...booking, ...placeOf(create.length + index) }, writes.at),
  );
  for (const holdId of holdIds) useHold(tx, facilityId, holdId);
  const pairs: readonly Pair[] = [
    ...deleted.map((id) => [currentOf(id), undefined] as const),
    ...updated.map((after) => [currentOf(after.id), after] as const),
    ...created.map((after) => [undefined, after] as const),
  ];
  writePairs(tx, pairs, writes);
  return { bookings: [...created, ...updated], conflicts: [] };
}

function updatedBooking(
  current: Booking,
  update: BookingUpdate & Pick<Booking, 'facilityId' | 'locationId'>,
  at: Date,
): Booking {
  return {
    ...current,
    ...update,
    metadata: update.metadata === undefined ? current.metadata : update.metadata,
    // A group is at one facility.
    groupId: update.facilityId === current.facilityId ? current.groupId : null,
    lastUpdatedAt: later(current.lastUpdatedAt, at),
    version: current.version + 1,
  };
}

/** A booking before and after the write. */
type Pair = readonly [before: Booking | undefined, after: Booking | undefined];

/**
 * Deletes, then updates, then inserts, with one statement for each kind and facility. A move to another facility
 * deletes and inserts, because Citus cannot change a row's facility, which decides which node has the row.
 */
function writePairs(tx: Transaction, pairs: readonly Pair[], { at, sender: { caller, requestId } }: Writes): void {
  const author = { clientId: caller.clientId, subject: caller.subject, requestId };
  for (const facilityId of new Set(pairs.flat().flatMap((booking) => booking?.facilityId ?? []))) {
    const isHere = (booking: Booking | undefined): boolean => booking?.facilityId === facilityId;
    const changes = (written: readonly Pair[]) =>
      changeValues(
        facilityId,
        written.map((pair) => changeOf(pair, facilityId, at)),
        author,
      );
    const deleted = pairs.filter(([before, after]) => isHere(before) && !isHere(after));
    const updated = pairs.filter(([before, after]) => isHere(before) && isHere(after));
    const created = pairs.filter(([before, after]) => !isHere(before) && isHere(after));
    const after = (written: readonly Pair[]) => written.map((pair) => pair[1] as Booking);
    if (deleted.length > 0) send(tx, deleteBookings, [...changes(deleted), deleted.map(([before]) => before?.id)]);
    if (updated.length > 0) send(tx, updateBookings, [...changes(updated), ...updateValues(after(updated))]);
    if (created.length > 0)
      send(tx, insertBookings(created.length), [...changes(created), ...insertValues(after(created))]);
  }
  writeReferences(tx, pairs);
}

/** In order, because all transactions write references in the same order. */
function writeReferences(tx: Transaction, pairs: readonly Pair[]): void {
  const idOf = ([before, after]: Pair) => (after ?? before)?.externalBookingId ?? '';
  for (const pair of pairs.filter(idOf).toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))) {
    const [before, after] = pair;
    if (!after) send(tx, references.delete, [idOf(pair)]);
    else if (!before) send(tx, references.insert, [idOf(pair), after.facilityId, after.id]);
    else if (before.facilityId !== after.facilityId) send(tx, references.move, [idOf(pair), after.facilityId]);
  }
}

/** Returns the change at one facility. */
function changeOf(pair: Pair, facilityId: string, at: Date): BookingChange {
  const [before, after] = pair.map((booking) => (booking?.facilityId === facilityId ? booking : undefined));
  const { id, version, lastUpdatedAt } = (after ?? before) as Booking;
  const other = pair.find((booking) => booking && booking.facilityId !== facilityId);
  return {
    facilityId,
    bookingId: id,
    // A deletion counts as one more version.
    version: after ? version : version + 1,
    at: after ? lastUpdatedAt : later(lastUpdatedAt, at),
    action: !before ? 'created' : after ? 'updated' : 'deleted',
    before: before ? stateOf(before) : null,
    after: after ? stateOf(after) : null,
    ...(other && { otherFacilityId: other.facilityId }),
  };
}

/**
 * The table's constraint is the last line of defence against overlaps. A violation is a defect, so the error has a
 * cause, which is logged.
 */
function throwOverlap(error: unknown): never {
  if (errorCode(error) === exclusionViolation) throw apiError('BOOK00002', { cause: error });
  throw error;
}
