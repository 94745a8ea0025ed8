// Reads and writes closures: times when bays, or all bays of a location, cannot be booked.
import type { PageRequest } from '@bay-booking/common/page';
import {
  type Database,
  query,
  queryOne,
  send,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import { type NewResponse, storeResponse } from '@bay-booking/service/idempotency';
import { queryPage } from '@bay-booking/service/page-statements';
import { lockFacility, lockPlaces, type Places } from '../database/locks.ts';
import { apiError } from '../errors.ts';
import { byBayName } from '../places/store.ts';
import type { Closure, ClosureRow } from './closure.ts';

const columns = `booking_closure.facility_id as "facilityId", booking_closure.id, bay_ids as "bayIds",
  booking_closure.location_id as "locationId", start_date as "startDate", end_date as "endDate", reason,
  created_at as "createdAt", last_updated_at as "lastUpdatedAt", coalesce(bay_ids, array(
    select bay.id from bay where bay.facility_id = booking_closure.facility_id
      and bay.location_id = booking_closure.location_id and bay.removed_at is null order by ${byBayName}
  )) as "closedBayIds"`;

/**
 * Selects closures by location ($2), by bay ($3) and by interval ($4 and $5). A null parameter does not filter. A
 * location also selects closures of single bays in this location, and a bay also selects closures of its location. If
 * the interval is an instant, it also selects closures that start at this instant.
 */
const matching = `from booking_closure where facility_id = any($1)
  and ($2::text[] is null or location_id = any($2) or exists (
    select from bay where bay.facility_id = booking_closure.facility_id and bay.id = any(bay_ids)
      and bay.location_id = any($2)))
  and ($3::text[] is null or bay_ids && $3::text[] or exists (
    select from bay where bay.facility_id = booking_closure.facility_id and bay.id = any($3)
      and bay.location_id = booking_closure.location_id))
  and ($4::timestamptz is null or end_date > $4::timestamptz)
  and ($5::timestamptz is null or start_date < $5::timestamptz or ($4::timestamptz = $5::timestamptz
    and start_date = $5::timestamptz))`;

const findClosure = `select ${columns} from booking_closure where facility_id = any($1) and id = $2::uuid`;
const lockClosure = 'select id from booking_closure where facility_id = $1 and id = $2::uuid for update';
const insertClosure = `insert into booking_closure (facility_id, id, bay_ids, location_id, start_date, end_date, reason,
  created_at, last_updated_at)
values ($1, $2::uuid, $3::text[], $4, $5::timestamptz, $6::timestamptz, $7, $8::timestamptz, $9::timestamptz)`;
const deleteClosure = 'delete from booking_closure where facility_id = $1 and id = $2::uuid';

/** Counts the closures that have not ended. Returns 0 if the closure $2, which ends at $3, adds nothing to them. */
const countClosures = `select count(*)::int as closures from booking_closure
where facility_id = $1 and end_date > now() and $3::timestamptz > now() and not exists (
  select from booking_closure counted where facility_id = $1 and counted.id = $2::uuid and counted.end_date > now())`;
/** Requests read every closure of a facility that overlaps their interval, so their number is limited. */
const maxClosures = 1_000;

const baysOfLocation = `select id from bay where facility_id = $1 and location_id = $2 and removed_at is null
order by ${byBayName}`;

export interface ClosureFilter {
  readonly locationIds?: readonly string[] | undefined;
  readonly bayIds?: readonly string[] | undefined;
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
}

export type ClosureStore = ReturnType<typeof createClosureStore>;

export function createClosureStore(db: Database) {
  async function find(facilities: readonly string[], id: string): Promise<ClosureRow | undefined> {
    return queryOne<ClosureRow>(db, findClosure, [facilities, id]);
  }

  /** Locks a closure before its bays, unlike all other rows. Only requests that change this closure wait for it. */
  async function lock(tx: Transaction, facilityId: string, id: string): Promise<ClosureRow | undefined> {
    const [, [current]] = await Promise.all([
      query(tx, lockClosure, [facilityId, id]),
      query<ClosureRow>(tx, findClosure, [[facilityId], id]),
    ]);
    return current;
  }

  return {
    find,

    list: (facilities: readonly string[], { locationIds, bayIds, start, end }: ClosureFilter, page: PageRequest) => {
      const dates = [start?.toISOString() ?? null, end?.toISOString() ?? null];
      const filter = [facilities, locationIds ?? null, bayIds ?? null, ...dates];
      return queryPage<ClosureRow>(db, { columns, from: matching, orderBy: 'start_date, id' }, filter, page);
    },

    findBaysOfLocation: async (facilityId: string, locationId: string): Promise<readonly string[]> =>
      (await query<{ id: string }>(db, baysOfLocation, [facilityId, locationId])).map(({ id }) => id),

    /** @throws {ApiError} CLOS00001 */
    create: (closure: Closure, response: NewResponse | undefined): Promise<void> =>
      transaction(db, async (tx) => {
        await storeResponse(tx, response, closure);
        await checkNumber(tx, closure);
        await lockPlaces(tx, placesOf(closure));
        send(tx, insertClosure, valuesOf(closure));
      }),

    /**
     * Replaces the closure, possibly with one of another facility. `replace` gets the current closure. If it throws an
     * error, nothing is changed. Returns undefined if the facility does not have the closure.
     * @throws {ApiError} CLOS00001
     */
    replace: ({ facilityId, id }: Closure, replace: (current: ClosureRow) => Closure) =>
      transaction(db, async (tx) => {
        const current = await lock(tx, facilityId, id);
        if (!current) return undefined;
        const replacement = replace(current);
        for (const places of byFacility([current, replacement].map(placesOf))) {
          if (places.facilityId === replacement.facilityId) await checkNumber(tx, replacement);
          await lockPlaces(tx, places);
        }
        // Citus cannot change the facility of a row.
        send(tx, deleteClosure, [facilityId, id]);
        send(tx, insertClosure, valuesOf(replacement));
        const row = await queryOne<ClosureRow>(tx, findClosure, [[replacement.facilityId], id]);
        return row;
      }),

    /** Returns false if the facility does not have the closure. If `check` throws an error, nothing is changed. */
    delete: ({ facilityId, id }: Closure, check: (current: ClosureRow) => void): Promise<boolean> =>
      transaction(db, async (tx) => {
        const current = await lock(tx, facilityId, id);
        if (!current) return false;
        check(current);
        await lockPlaces(tx, placesOf(current));
        send(tx, deleteClosure, [facilityId, id]);
        return true;
      }),
  };
}

/**
 * Checks that the facility can have one more closure, under a lock.
 * @throws {ApiError} CLOS00001
 */
async function checkNumber(tx: Transaction, { facilityId, id, endDate }: Closure): Promise<void> {
  lockFacility(tx, facilityId);
  const counted = await queryOne<{ closures: number }>(tx, countClosures, [facilityId, id, endDate]);
  if ((counted?.closures ?? 0) >= maxClosures) throw apiError('CLOS00001');
}

function placesOf({ facilityId, bayIds, locationId }: Closure): Places {
  return { facilityId, bayIds: bayIds ?? [], locationIds: locationId === null ? [] : [locationId] };
}

/** Joins the places of each facility. All transactions lock facilities in the order of their ids. */
function byFacility(places: readonly Places[]): readonly Places[] {
  return [...Map.groupBy(places, ({ facilityId }) => facilityId)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([facilityId, ofFacility]) => ({
      facilityId,
      bayIds: ofFacility.flatMap(({ bayIds }) => bayIds),
      locationIds: ofFacility.flatMap(({ locationIds }) => locationIds),
    }));
}

function valuesOf(closure: Closure): unknown[] {
  const { facilityId, id, bayIds, locationId, startDate, endDate, reason, createdAt, lastUpdatedAt } = closure;
  return [facilityId, id, bayIds, locationId, startDate, endDate, reason, createdAt, lastUpdatedAt];
}
