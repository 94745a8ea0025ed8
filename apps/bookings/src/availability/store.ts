// Reads the bays of an availability request, and what takes them: bookings, live holds and closures.
import { offsetOf, type PageRequest, reconcileTotal } from '@bay-booking/common/page';
import { type Queryable, query } from '@bay-booking/service/database/database';
import { isoTimestamps } from '../bookings/storage/timestamps.ts';
import type { OpeningHours } from '../opening-hours/hours.ts';
import type { Interval } from './interval.ts';
import type { Closure } from './rule.ts';
import { milliseconds } from './rules-store.ts';

export interface BayRow {
  readonly id: string;
  readonly name: string;
  readonly bookable: boolean;
  readonly locationId: string;
  readonly locationName: string;
  readonly facilityId: string;
  readonly timeZone: string;
  readonly hours: OpeningHours | null;
  /** The time of the database. */
  readonly asOf: string;
}

/** What takes the bays of one facility, by bay. */
export interface TakenTimes {
  /** Bookings and live holds. */
  readonly taken: ReadonlyMap<string, readonly Interval[]>;
  readonly closures: readonly (Closure & { readonly bayIds: readonly string[] | null; readonly locationId: string })[];
}

export interface BayFilter {
  readonly locationIds?: readonly string[] | undefined;
  readonly bayIds?: readonly string[] | undefined;
}

const matching = `from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
join facility on facility.id = bay.facility_id
where bay.facility_id = any($1) and ($2::text[] is null or bay.location_id = any($2))
  and ($3::text[] is null or bay.id = any($3))`;

/** Text. `date_part` calculates with floating-point numbers, which is faster than `extract`. */
const epoch = (column: string): string => `(date_part('epoch', ${column}) * 1000)::bigint::text`;

export const availabilityReads = {
  clock: 'select now()::timestamptz(3) as now',

  bays: `select bay.id, bay.name, bay.bookable, bay.location_id as "locationId", location.name as "locationName",
  bay.facility_id as "facilityId", facility.time_zone as "timeZone", location.opening_hours as hours,
  now()::timestamptz(3) as "asOf"
${matching} order by bay.name collate "C", bay.id collate "C" limit $4 offset $5`,

  count: `select count(*)::int as total ${matching}`,

  /**
   * The bookings of a bay do not overlap, so only the last one that began before the interval can reach into it. The
   * live holds, apart from hold $6, are few. Each row is a bay with its starts and ends in turn, in milliseconds, as a
   * list that JSON.parse reads. An array of PostgreSQL takes several times as long to parse.
   */
  taken: `select bay.id as "bayId",
  string_agg(${epoch('start_date')} || ',' || ${epoch('end_date')}, ',') as times
from bay cross join lateral (
  (select start_date, end_date from booking where booking.facility_id = $1 and booking.bay_id = bay.id
    and start_date < $3::timestamptz order by start_date desc limit 1)
  union all
  select start_date, end_date from booking where booking.facility_id = $1 and booking.bay_id = bay.id
    and start_date >= $3::timestamptz and start_date < $4::timestamptz
  union all
  select start_date, end_date from booking_hold where booking_hold.facility_id = $1 and booking_hold.bay_id = bay.id
    and expires_at > $5::timestamptz and booking_hold.id is distinct from $6::uuid and start_date < $4::timestamptz
) taken
where bay.facility_id = $1 and bay.id = any($2) group by bay.id`,

  closures: `select ${milliseconds('start_date')}::float8 as start, ${milliseconds('end_date')}::float8 as end, reason,
  bay_ids as "bayIds", location_id as "locationId"
from booking_closure where facility_id = $1 and end_date > $2::timestamptz and start_date < $3::timestamptz`,
} as const;

export type AvailabilityStore = ReturnType<typeof createAvailabilityStore>;

export function createAvailabilityStore(db: Queryable) {
  async function now(): Promise<string> {
    const [row] = await query<{ now: string }>(db, availabilityReads.clock, [], isoTimestamps);
    if (!row) throw new Error('the database returned no time');
    return row.now;
  }

  return {
    /** `asOf` is the time of the database, whose clock decides which holds are live. */
    findBays: async (facilities: readonly string[], { locationIds, bayIds }: BayFilter, page: PageRequest) => {
      const where = [facilities, locationIds ?? null, bayIds ?? null];
      const offset = offsetOf(page);
      const values = [...where, page.pageSize, offset];
      const rows = await query<BayRow>(db, availabilityReads.bays, values, isoTimestamps);
      const asOf = rows[0]?.asOf ?? (await now());
      const isLastPage = rows.length < page.pageSize && (rows.length > 0 || offset === 0);
      if (isLastPage) return { rows, asOf, total: offset + rows.length };
      const [counted] = await query<{ total: number }>(db, availabilityReads.count, where);
      return { rows, asOf, total: reconcileTotal(rows.length, offset, counted?.total ?? 0) };
    },

    /** `interval` is in milliseconds. The hold `exceptHoldId` takes nothing. */
    findTaken: async (
      facilityId: string,
      bayIds: readonly string[],
      interval: Interval,
      { asOf, exceptHoldId }: { readonly asOf: string; readonly exceptHoldId: string | undefined },
    ): Promise<TakenTimes> => {
      const period = [interval.start, interval.end].map((instant) => new Date(instant).toISOString());
      const values = [facilityId, bayIds, ...period, asOf, exceptHoldId ?? null];
      const [rows, closures] = await Promise.all([
        query<{ bayId: string; times: string }>(db, availabilityReads.taken, values),
        query<TakenTimes['closures'][number]>(db, availabilityReads.closures, [facilityId, ...period]),
      ]);
      const taken = rows.map(({ bayId, times }): [string, Interval[]] => [bayId, intervalsOf(times)]);
      return { taken: new Map(taken), closures };
    },
  };
}

function intervalsOf(times: string): Interval[] {
  const numbers = JSON.parse(`[${times}]`) as number[];
  const intervals: Interval[] = [];
  for (let index = 0; index < numbers.length; index += 2)
    intervals.push({ start: numbers[index] as number, end: numbers[index + 1] as number });
  return intervals;
}
