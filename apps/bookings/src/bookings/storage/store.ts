// Reads and writes bookings.
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
import { type NewResponse, storeResponse } from '@bay-booking/service/idempotency/store';
import type { Caller } from '../../auth/caller.ts';
import { type Exceptions, type FoundBay, readBayStates } from '../../availability/bay-states.ts';
import type { Bay } from '../../availability/reservation.ts';
import { type Conflict, findConflicts } from '../../availability/rule.ts';
import { type Author, type BookingChange as Change, changeValues } from '../../changes/log.ts';
import { apiError } from '../../errors.ts';
import { useHold } from '../../holds/store.ts';
import { lockBays } from '../../places/locks.ts';
import { intervalOf, type Times } from '../../time/interval.ts';
import { later } from '../../time/timestamps.ts';
import type { Booking, BookingChange, NewBooking } from '../resource.ts';
import {
  deleteBookings,
  findBooking,
  findBookingAtSome,
  insertBookings,
  insertValues,
  lockBooking,
  references,
  stateOf,
  updateBookings,
  updateValues,
} from './columns.ts';

/** The request that writes. Its client is the author of the changes. */
export interface Sender {
  readonly caller: Caller;
  readonly requestId: string;
}

export interface Update {
  readonly id: string;
  readonly change: BookingChange;
}

/** The bookings that a request wants to write: all of them or none. */
export interface Wanted {
  /** The facility of all bays. Undefined if the request only deletes. */
  readonly facilityOfBays: string | undefined;
  readonly create?: readonly NewBooking[];
  readonly update?: readonly Update[];
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
  readonly sender: Sender;
  /** The response to store. Undefined if the request had no Idempotency-Key. */
  readonly response?: NewResponse | undefined;
  /** Whether only conflicts are found. External ids of other facilities are then none, because nothing is booked. */
  readonly dryRun?: boolean | undefined;
}

export interface Outcome {
  /** The created bookings, then the updated ones. Before the write, if there are conflicts. */
  readonly bookings: readonly Booking[];
  /** The conflicts of each booking in `bookings`. */
  readonly conflicts: readonly (readonly Conflict[])[];
}

/** If `times` is undefined, only the bay is checked. If `bay` is undefined, only the external id is checked. */
export interface RequestedBooking {
  readonly bay: Bay | undefined;
  readonly times: Times | undefined;
  readonly externalBookingId?: string | null | undefined;
  /** The stored booking that the request updates. */
  readonly current?: Booking | undefined;
}

interface LookOptions extends Exceptions {
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
    find: async (facilities: readonly string[], id: string): Promise<Booking | undefined> => {
      const [first, ...others] = facilities;
      const [found] =
        others.length === 0
          ? await query<Booking>(db, findBooking, [first, id])
          : await query<Booking>(db, findBookingAtSome, [facilities, id]);
      return found;
    },

    /**
     * Writes all bookings, or none if one has a conflict. Returns undefined if a booking to update or delete is not
     * among the locked ones, for example because another request has moved it, or if `check` returns false.
     */
    write: async (wanted: Wanted): Promise<Outcome | undefined> => {
      try {
        return await transaction(db, (tx) => write(tx, wanted));
      } catch (error) {
        // A request for another bay has used the external booking id after this transaction looked for it.
        const { create = [] } = wanted;
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
     * Returns the conflicts of each requested booking without a lock: for a request that writes nothing or has other
     * errors too. The response can then report all errors.
     */
    findConflicts: (
      requestedBookings: readonly RequestedBooking[],
      options: LookOptions,
    ): Promise<readonly (readonly Conflict[])[]> =>
      transaction(db, async (tx) => {
        const { conflictsOf } = await look(tx, requestedBookings, options);
        return requestedBookings.map(({ current }, index) => conflictsOf(index, current));
      }),
  };
}

export const lockOne =
  (facilityId: string, id: string) =>
  (tx: Transaction): Promise<readonly Booking[]> =>
    query<Booking>(tx, lockBooking, [facilityId, id]);

async function write(tx: Transaction, wanted: Wanted): Promise<Outcome | undefined> {
  const { facilityOfBays: facilityId, create = [], update = [], delete: deleted = [], lock, check } = wanted;
  const { holdIds = [], response, sender, dryRun } = wanted;
  const [first] = create;
  if (first) await storeResponse(tx, response, first);
  const requested: readonly RequestedBooking[] = [
    ...create.map((booking) => ({ bay: booking, times: booking, externalBookingId: booking.externalBookingId })),
    ...update.map(({ change }) => ({ bay: { facilityId: facilityId ?? '', bayId: change.bayId }, times: change })),
  ];
  const bayIds = [...new Set(requested.flatMap(({ bay }) => bay?.bayId ?? []))];
  const bookingIds = [...update.map(({ id }) => id), ...deleted];
  const [, locked = [], { bayOf, conflictsOf }] = await Promise.all([
    facilityId === undefined ? undefined : lockBays(tx, facilityId, bayIds),
    lock?.(tx),
    look(tx, requested, { bookingIds, holdIds, referencesOf: dryRun ? sender.caller.facilities : undefined }),
  ]);
  const byId = new Map(locked.map((booking) => [booking.id, booking]));
  if (bookingIds.some((id) => !byId.has(id)) || check?.(locked) === false) return undefined;
  const current = (id: string) => byId.get(id) as Booking;
  const conflicts = requested.map((_requested, index) => {
    const updated = update[index - create.length];
    return conflictsOf(index, updated && current(updated.id));
  });
  const hasConflicts = conflicts.some((ofBooking) => ofBooking.length > 0);
  if (hasConflicts || dryRun) {
    const bookings = update.map(({ id }) => current(id));
    throw new Rollback<Outcome>({ bookings, conflicts: hasConflicts ? conflicts : [] });
  }
  const locationOf = (index: number) => bayOf(index)?.locationId as string;
  const created = create.map((booking, index) => ({ ...booking, locationId: locationOf(index) }));
  const updated = update.map(({ id, change }, index) =>
    updatedBooking(current(id), change, facilityId as string, locationOf(create.length + index), wanted.at),
  );
  for (const holdId of holdIds) useHold(tx, facilityId as string, holdId);
  const pairs = [
    ...deleted.map((id) => ({ before: current(id) })),
    ...updated.map((after) => ({ before: current(after.id), after })),
    ...created.map((after) => ({ after })),
  ];
  writePairs(tx, pairs, wanted.at, authorOf(sender));
  return { bookings: [...created, ...updated], conflicts: [] };
}

function updatedBooking(
  current: Booking,
  change: BookingChange,
  facilityId: string,
  locationId: string,
  at: Date,
): Booking {
  return {
    ...current,
    ...change,
    metadata: change.metadata === undefined ? current.metadata : change.metadata,
    // A group is at one facility.
    groupId: facilityId === current.facilityId ? current.groupId : null,
    facilityId,
    locationId,
    lastUpdatedAt: later(current.lastUpdatedAt, at),
    version: current.version + 1,
  };
}

/** A booking before and after a write. */
interface Pair {
  readonly before?: Booking;
  readonly after?: Booking;
  /** For a part of a move, the facility of the other part. */
  readonly otherFacilityId?: string;
}

/** Deletes, then updates, then inserts, with one statement for each kind and facility. */
function writePairs(tx: Transaction, pairs: readonly Pair[], at: Date, author: Author): void {
  for (const [facilityId, ofFacility] of Map.groupBy(pairs.flatMap(splitMove), facilityOf)) {
    const changes = (written: readonly Pair[]) =>
      changeValues(
        facilityId,
        written.map((pair) => changeOf(pair, at)),
        author,
      );
    const deleted = ofFacility.filter(({ after }) => !after);
    const updated = ofFacility.filter(({ before, after }) => before && after);
    const created = ofFacility.filter(({ before }) => !before);
    const after = (written: readonly Pair[]) => written.map((pair) => pair.after as Booking);
    if (deleted.length > 0) send(tx, deleteBookings, [...changes(deleted), deleted.map(({ before }) => before?.id)]);
    if (updated.length > 0) send(tx, updateBookings, [...changes(updated), ...updateValues(after(updated))]);
    if (created.length > 0)
      send(tx, insertBookings(created.length), [...changes(created), ...insertValues(after(created))]);
  }
  writeReferences(tx, pairs);
}

/** Citus cannot change a row's facility, which decides which node has the row. */
function splitMove(pair: Pair): readonly Pair[] {
  const { before, after } = pair;
  if (!before || !after || before.facilityId === after.facilityId) return [pair];
  return [
    { before, otherFacilityId: after.facilityId },
    { after, otherFacilityId: before.facilityId },
  ];
}

const facilityOf = ({ before, after }: Pair): string => ((after ?? before) as Booking).facilityId;

/** In order, because all transactions write references in the same order. */
function writeReferences(tx: Transaction, pairs: readonly Pair[]): void {
  const idOf = ({ before, after }: Pair) => (after ?? before)?.externalBookingId ?? '';
  for (const pair of pairs.filter(idOf).toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))) {
    const { before, after } = pair;
    if (!after) send(tx, references.delete, [idOf(pair)]);
    else if (!before) send(tx, references.insert, [idOf(pair), after.facilityId, after.id]);
    else if (before.facilityId !== after.facilityId) send(tx, references.move, [idOf(pair), after.facilityId]);
  }
}

function changeOf({ before, after, otherFacilityId }: Pair, at: Date): Change {
  const { facilityId, id, version, lastUpdatedAt } = (after ?? before) as Booking;
  return {
    facilityId,
    bookingId: id,
    // A deletion counts as one more version.
    version: after ? version : version + 1,
    at: after ? lastUpdatedAt : later(lastUpdatedAt, at),
    action: !before ? 'created' : after ? 'updated' : 'deleted',
    before: before ? stateOf(before) : null,
    after: after ? stateOf(after) : null,
    ...(otherFacilityId !== undefined && { otherFacilityId }),
  };
}

/** Reads the bays of the requested bookings. The bookings of one request also conflict with each other. */
async function look(tx: Transaction, requestedBookings: readonly RequestedBooking[], options: LookOptions) {
  const externalIds = externalIdsOf(requestedBookings);
  const bays = new Map<RequestedBooking, FoundBay | undefined>();
  const reads = [...Map.groupBy(requestedBookings, ({ bay }) => bay?.facilityId)].map(
    async ([facilityId, requested]) => {
      if (facilityId === undefined) return;
      const wanted = requested.map(({ bay, times }) => ({ bayId: bay?.bayId ?? '', times }));
      const found = await readBayStates(tx, facilityId, wanted, options);
      for (const [index, booking] of requested.entries()) bays.set(booking, found[index]);
    },
  );
  const [used] = await Promise.all([findUsedIds(tx, externalIds, options.referencesOf), ...reads]);
  const intervals = requestedBookings.map(({ times }) => times && intervalOf(times));
  const bayOf = (index: number) => bays.get(requestedBookings[index] as RequestedBooking);
  const conflictsOf = (index: number, current: Booking | undefined): readonly Conflict[] => {
    const requested = requestedBookings[index] as RequestedBooking;
    const ignoresHoursAndClosures = current && keepsBayAndTimes(current, { ...requested.bay, ...requested.times });
    const { externalBookingId: id } = requested;
    const isUsed = id && (used.has(id) || externalIds.indexOf(id) !== externalIds.lastIndexOf(id));
    const conflicts = isUsed ? [idUsed] : [];
    if (!requested.bay) return conflicts;
    const bay = bayOf(index);
    const others = intervals.filter(
      (_interval, other) => other !== index && requestedBookings[other]?.bay?.bayId === requested.bay?.bayId,
    );
    const bookings = others.flatMap((interval) => interval ?? []);
    return [
      ...conflicts,
      ...findConflicts(bay && { ...bay, bookings: [...bay.bookings, ...bookings] }, intervals[index], {
        ignoresHoursAndClosures,
      }),
    ];
  };
  return { bayOf, conflictsOf };
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

function keepsBayAndTimes(current: Booking, { bayId, startDate, endDate }: Partial<Bay & Times>): boolean {
  return bayId === current.bayId && startDate === current.startDate && endDate === current.endDate;
}
