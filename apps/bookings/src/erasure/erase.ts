// Erases the personal data of bookings wherever the service stores it (docs/operations/personal-data.md).
import { type Database, Rollback, type Transaction, transaction } from '@bay-booking/service/database/database';
import { rewriteResponses } from '@bay-booking/service/idempotency';
import type { Logger } from '@bay-booking/service/logging';
import { type Booking, erasedFields, stateOf } from '../bookings/storage/columns.ts';
import {
  type Author,
  appendChanges,
  type BookingChange,
  type BookingState,
  erasedText,
  serviceItself,
} from '../changes/log.ts';
import { lockFacility } from '../database/locks.ts';
import { unavailable } from '../errors.ts';
import { later } from '../time/timestamps.ts';
import { rewriteBodies } from '../webhooks/delivery/delivery-store.ts';
import {
  eraseChanges,
  findByAlias,
  findByFormerAlias,
  findEnded,
  findEndedDeletions,
  findFacilities,
  findKnownFacilities,
  findKnownIds,
  findLatestChanges,
  findPersonal,
  type LatestChange,
  lockBookings,
  storeErased,
} from './store.ts';

/** The maximum number of bookings of one request, and of one run of the job. */
export const maxErasedBookings = 500;
/** The maximum number of bookings of one transaction. */
const batchSize = 50;
/** An attempt fails if one of its bookings moves to another facility at the same time. */
const maxAttempts = 20;

export interface ErasureOptions {
  readonly author: Author;
  readonly at: Date;
  readonly dryRun?: boolean;
}

export type Erasure = ReturnType<typeof createErasure>;

export function createErasure(db: Database, logger: Logger) {
  const erase = async (facilities: readonly string[], requestedIds: readonly string[], options: ErasureOptions) => {
    const ids = await findKnownIds(db, facilities, requestedIds);
    let bookings = 0;
    for (let first = 0; first < ids.length; first += batchSize) {
      const erased = await eraseBatch(db, facilities, ids.slice(first, first + batchSize), options);
      bookings += erased.length;
      if (erased.length > 0 && !options.dryRun) logErasure(logger, facilities, erased, options.author);
    }
    return bookings;
  };

  return {
    /** Returns one booking more than the maximum if there are more. */
    find: async (facilities: readonly string[], userAlias: string): Promise<ReadonlySet<string>> => {
      const limit = maxErasedBookings + 1;
      // Erased bookings have no alias that could be erased.
      if (userAlias === erasedText) return new Set();
      const [current, former] = await Promise.all([
        findByAlias(db, facilities, userAlias, limit),
        findByFormerAlias(db, facilities, userAlias, limit),
      ]);
      return new Set([...current, ...former]);
    },

    /** Returns the number of bookings that it has changed, or would change. */
    erase,

    /**
     * Erases some of the bookings that ended before `endedBefore`, at every facility where they were. Returns whether
     * there may be more. The retention job removes the history of bookings that were deleted before `keptSince`.
     */
    eraseEnded: async (endedBefore: Date, keptSince: Date, at: Date): Promise<boolean> => {
      const limit = maxErasedBookings;
      const ended = await findEnded(db, endedBefore, limit);
      const deletions = await findEndedDeletions(db, endedBefore, keptSince, limit);
      const byFacility = Map.groupBy([...ended, ...deletions], ({ facilityId }) => facilityId);
      let erased = 0;
      for (const [facilityId, bookings] of byFacility) {
        const ids = [...new Set(bookings.map(({ id }) => id))];
        erased += await erase(await findFacilities(db, [facilityId], ids), ids, { author: serviceItself, at });
      }
      return erased > 0 && (ended.length === limit || deletions.length === limit);
    },
  };
}

/** These lines allow repeating an erasure after a backup was restored. */
function logErasure(logger: Logger, facilityIds: readonly string[], target: readonly string[], author: Author): void {
  const { clientId, subject, requestId } = author;
  const action = 'booking.erased';
  logger.info({ audit: true, action, clientId, subject, requestId, facilityIds, target }, 'bookings erased');
}

/** Returns the ids of the bookings that it has changed, or would change. */
async function eraseBatch(
  db: Database,
  facilities: readonly string[],
  ids: readonly string[],
  options: ErasureOptions,
): Promise<readonly string[]> {
  if (options.dryRun) return findPersonal(db, facilities, ids);
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const known = await findKnownFacilities(db, facilities, ids);
    const erased = await transaction<readonly string[] | undefined>(db, (tx) =>
      eraseAt(tx, known, facilities, ids, options),
    );
    if (erased !== undefined) return erased;
  }
  throw unavailable(new Error('a booking that is to be erased was always moved, or lacks a change (run recount)'));
}

/**
 * Locks the facilities first, like a recount and an import, so that other erasures and compaction wait. Returns
 * undefined if a booking has moved to another one of the `permitted` facilities before it was locked.
 */
async function eraseAt(
  tx: Transaction,
  facilities: readonly string[],
  permitted: readonly string[],
  ids: readonly string[],
  { author, at }: ErasureOptions,
): Promise<readonly string[] | undefined> {
  const ofAll = async <T>(read: (facilityId: string) => Promise<readonly T[]>): Promise<readonly T[]> =>
    (await Promise.all(facilities.map(read))).flat();
  for (const facilityId of facilities) lockFacility(tx, facilityId);
  const bookings = await ofAll((facilityId) => lockBookings(tx, facilityId, ids));
  const [found, latest, personalIds] = await Promise.all([
    findKnownFacilities(tx, permitted, ids),
    ofAll((facilityId) => findLatestChanges(tx, facilityId, ids)),
    findPersonal(tx, facilities, ids),
  ]);
  const existing = new Set(bookings.map(({ id }) => id));
  const hasMoved = latest.some(({ bookingId, isDeleted }) => !isDeleted && !existing.has(bookingId));
  if (hasMoved || found.length > facilities.length) throw new Rollback(undefined);
  if (personalIds.length === 0) return personalIds;

  const personal = new Set(personalIds);
  const createdAt = latest.map(({ state }) => state?.createdAt).filter((time) => typeof time === 'string');
  const rewrite = (json: string): string => eraseJson(json, personal);
  await rewriteResponses(tx, facilities, createdAt, rewrite);
  await rewriteBodies(tx, facilities, personalIds, rewrite);
  const changes: BookingChange[] = [];
  for (const booking of bookings.filter(({ id }) => personal.has(id))) {
    const erased = eraseBooking(booking, at);
    storeErased(tx, erased);
    changes.push(changeOf(erased, stateOf({ ...booking, ...erasedFields }), stateOf(erased)));
  }
  const deleted = latest.filter(({ bookingId }) => personal.has(bookingId) && !existing.has(bookingId));
  for (const entries of Map.groupBy(deleted, ({ bookingId }) => bookingId).values()) {
    const last = entries.toSorted((a, b) => a.version - b.version).at(-1) as LatestChange;
    // The next version of a booking that has moved away belongs to the other facility.
    if (!last.isMoved) changes.push(changeOfDeleted(last, at));
  }
  for (const facilityId of facilities) eraseChanges(tx, facilityId, personalIds);
  appendChanges(tx, changes, author);
  return personalIds;
}

function eraseBooking(booking: Booking, at: Date): Booking {
  const lastUpdatedAt = later(booking.lastUpdatedAt, at);
  return { ...booking, ...erasedFields, lastUpdatedAt, version: booking.version + 1 };
}

function changeOf({ facilityId, id, version, lastUpdatedAt }: Booking, before: BookingState, after: BookingState) {
  return { facilityId, bookingId: id, version, at: lastUpdatedAt, action: 'erased', before, after } as const;
}

/** The change belongs to the facility where the booking was deleted, and not where it was before. */
function changeOfDeleted(last: LatestChange, at: Date): BookingChange {
  const { facilityId, bookingId, version, state } = last;
  return {
    facilityId,
    bookingId,
    version: version + 1,
    at: later(last.at, at),
    action: 'erased',
    before: state && { ...state, ...erasedFields },
    after: null,
  };
}

/** Erases these bookings anywhere in a JSON string. */
function eraseJson(json: string, ids: ReadonlySet<string>): string {
  const replaced = JSON.parse(json, (_name, value) => {
    if (typeof value?.id !== 'string' || !ids.has(value.id)) return value;
    const fields = Object.entries(erasedFields).filter(([name]) => name in value);
    // JSON leaves out fields without a value.
    return { ...value, ...Object.fromEntries(fields.map(([name, erased]) => [name, erased ?? undefined])) };
  });
  return JSON.stringify(replaced);
}
