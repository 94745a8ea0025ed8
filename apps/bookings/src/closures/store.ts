// Reads and writes closures: the times at which bays, or all bays of a location, cannot be booked.
import { offsetOf, type PageRequest } from '@bay-booking/common/page';
import { type Database, query } from '@bay-booking/service/database/database';
import { lockRules } from '../availability/rule-statements.ts';
import { inTransaction, type Run, retryOnce } from '../database/in-transaction.ts';
import { outcomeOf, Rollback } from '../database/rollback.ts';
import { type NewResponse, type StoreResponseOutcome, storeResponse } from '../idempotency/store.ts';
import type { Closure, ClosureRow } from './closure.ts';

const byName = 'order by bay.name collate "C", bay.id collate "C"';

const columns = `booking_closure.facility_id as "facilityId", booking_closure.id, bay_ids as "bayIds",
  booking_closure.location_id as "locationId", start_date as "startDate", end_date as "endDate", reason,
  created_at as "createdAt", last_updated_at as "lastUpdatedAt", coalesce(bay_ids, array(
    select bay.id from bay where bay.facility_id = booking_closure.facility_id
      and bay.location_id = booking_closure.location_id ${byName}
  )) as "closedBayIds"`;

/**
 * Selects closures by location ($2), by bay ($3) and by interval ($4 and $5). A parameter that is null is no filter. A
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

export const closureReads = {
  find: `select ${columns} from booking_closure where facility_id = any($1) and id = $2::uuid`,
  list: `select ${columns} ${matching} order by start_date, id limit $6 offset $7`,
  count: `select count(*)::int as total ${matching}`,
  facilitiesOfBays: 'select facility_id as "facilityId", id from bay where facility_id = any($1) and id = any($2)',
  baysOfLocation: `select id from bay where facility_id = $1 and location_id = $2 ${byName}`,
  facilityOfLocation: 'select facility_id as "facilityId" from location where facility_id = any($1) and id = $2',
} as const;

export const closureWrites = {
  insert: `insert into booking_closure (facility_id, id, bay_ids, location_id, start_date, end_date, reason, created_at,
  last_updated_at)
values ($1, $2::uuid, $3::text[], $4, $5::timestamptz, $6::timestamptz, $7, $8::timestamptz, $9::timestamptz)`,
  delete: 'delete from booking_closure where facility_id = $1 and id = $2::uuid',
} as const;

export interface ClosureFilter {
  readonly locationIds?: readonly string[] | undefined;
  readonly bayIds?: readonly string[] | undefined;
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
}

export type ClosureStore = ReturnType<typeof createClosureStore>;

export function createClosureStore(db: Database) {
  async function find(facilities: readonly string[], id: string): Promise<ClosureRow | undefined> {
    return (await query<ClosureRow>(db, closureReads.find, [facilities, id]))[0];
  }

  /** Reads the closure in a transaction that has locked its bays. */
  async function findIn(run: Run, { facilityId, id }: Closure): Promise<ClosureRow | undefined> {
    const [[row]] = await run<[ClosureRow[]]>([closureReads.find, [[facilityId], id]]);
    return row;
  }

  /**
   * Replaces the closure, or deletes it if no replacement is given. A replacement can belong to another facility. Citus
   * cannot update `facility_id`, so the closure is deleted and inserted again.
   */
  function replaceOrDelete(old: Closure, replacement: Closure | undefined): Promise<boolean> {
    return retryOnce(db, () =>
      inTransaction(db, async (run) => {
        // Locks the bays, and increases the versions of their rules. Concurrent bookings notice this.
        for (const target of targetsOf(old, replacement)) await run(...lockRules(target));
        const current = await findIn(run, old);
        // Every change of a closure gives it a later `lastUpdatedAt`.
        if (current?.lastUpdatedAt !== old.lastUpdatedAt) return false;
        await run([closureWrites.delete, [old.facilityId, old.id]]);
        if (replacement) await run([closureWrites.insert, valuesOf(replacement)]);
        return true;
      }),
    );
  }

  return {
    find,

    list: async (facilities: readonly string[], filter: ClosureFilter, page: PageRequest) => {
      const { locationIds, bayIds, start, end } = filter;
      const dates = [start?.toISOString() ?? null, end?.toISOString() ?? null];
      const filterValues = [facilities, locationIds ?? null, bayIds ?? null, ...dates];
      const [rows, counted] = await Promise.all([
        query<ClosureRow>(db, closureReads.list, [...filterValues, page.pageSize, offsetOf(page)]),
        query<{ total: number }>(db, closureReads.count, filterValues),
      ]);
      return { rows, total: counted[0]?.total ?? 0 };
    },

    /** Returns the bays that exist in `facilities`, each with its facility. */
    findFacilitiesOfBays: (facilities: readonly string[], bayIds: readonly string[]) =>
      query<{ facilityId: string; id: string }>(db, closureReads.facilitiesOfBays, [facilities, bayIds]),

    findFacilityOfLocation: async (facilities: readonly string[], id: string): Promise<string | undefined> =>
      (await query<{ facilityId: string }>(db, closureReads.facilityOfLocation, [facilities, id]))[0]?.facilityId,

    findBaysOfLocation: async (facilityId: string, locationId: string): Promise<readonly string[]> =>
      (await query<{ id: string }>(db, closureReads.baysOfLocation, [facilityId, locationId])).map(({ id }) => id),

    /**
     * Adds a closure. `response` is given if the request had an Idempotency-Key, and is then stored. If the response
     * cannot be stored, nothing is added, and the outcome says why.
     */
    create: (closure: Closure, response: NewResponse | undefined): Promise<StoreResponseOutcome> =>
      outcomeOf(
        retryOnce(db, () =>
          inTransaction(db, async (run) => {
            const stored = await storeResponse(run, response, closure);
            if (stored !== 'stored') throw new Rollback(stored);
            await run(...lockRules(targetOf(closure)), [closureWrites.insert, valuesOf(closure)]);
            return stored;
          }),
        ),
      ),

    /** Returns false if another request has changed or deleted the closure since `old` was read. */
    replace: (old: Closure, replacement: Closure): Promise<boolean> => replaceOrDelete(old, replacement),

    /** Returns false if another request has changed or deleted the closure since `old` was read. */
    delete: (old: Closure): Promise<boolean> => replaceOrDelete(old, undefined),
  };
}

/** Returns the bays or the location to which a closure applies. */
function targetOf({ facilityId, bayIds, locationId }: Closure) {
  return { facilityId, bayIds: bayIds ?? [], locationIds: locationId === null ? [] : [locationId] };
}

/**
 * Returns the bays and locations of a closure and of its replacement, if there is one, grouped by facility. The
 * facilities are sorted by id, because all transactions lock them in this order.
 */
function targetsOf(old: Closure, replacement: Closure | undefined) {
  const targets = [old, ...(replacement ? [replacement] : [])].map(targetOf);
  return [...Map.groupBy(targets, ({ facilityId }) => facilityId)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([facilityId, targetsOfFacility]) => ({
      facilityId,
      bayIds: targetsOfFacility.flatMap(({ bayIds }) => bayIds),
      locationIds: targetsOfFacility.flatMap(({ locationIds }) => locationIds),
    }));
}

function valuesOf(closure: Closure): unknown[] {
  const { facilityId, id, bayIds, locationId, startDate, endDate, reason, createdAt, lastUpdatedAt } = closure;
  return [facilityId, id, bayIds, locationId, startDate, endDate, reason, createdAt, lastUpdatedAt];
}
