// Reads and caches the rules of bays: opening hours and closures, with the version of the rules.
//
// Cached rules can be out of date. The statement that writes a booking locks the row of the bay, and writes nothing if
// the row has another version of the rules. Outdated rules therefore never permit a booking. Before a booking is
// rejected because of cached rules, the rules are read again.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { LRUCache } from 'lru-cache';
import type { OpeningHours } from '../opening-hours/hours.ts';
import { alwaysOpen, createSchedule, type Schedule } from '../opening-hours/schedule.ts';
import type { Interval } from '../time/interval.ts';
import type { BayRules, Closure } from './rule.ts';

export interface Bay {
  readonly facilityId: string;
  readonly bayId: string;
}

export interface VersionedRules extends BayRules {
  readonly version: number;
  /** The rules do not include closures that end at this time or earlier. In milliseconds since 1970. */
  readonly since: number;
}

interface Row {
  readonly bookable: boolean;
  readonly version: number;
  readonly timeZone: string;
  readonly hours: OpeningHours | null;
  readonly closures: readonly Closure[] | null;
}

const day = 86_400_000;
const maxCachedBays = 20_000;
const maxCachedSchedules = 2_000;

/** The SQL expression for the timestamp of a column, in milliseconds since 1970. */
export const milliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint`;

export const ruleReads = {
  /**
   * Reads the rules and their version in a single statement, so that another transaction cannot change the rules
   * between two reads. Closures that end at $3 or earlier are left out.
   */
  rules: `select bay.bookable, bay.rules_version as version, facility.time_zone as "timeZone",
  location.opening_hours as hours, (
    select json_agg(json_build_object('start', ${milliseconds('start_date')}, 'end', ${milliseconds('end_date')},
      'reason', reason) order by start_date, id)
    from booking_closure where facility_id = $1 and end_date > $3::timestamptz
      and (location_id = bay.location_id or bay.id = any(bay_ids))
  ) as closures
from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
join facility on facility.id = bay.facility_id
where bay.facility_id = $1 and bay.id = $2`,
} as const;

export type RulesStore = ReturnType<typeof createRulesStore>;

export function createRulesStore(db: Queryable) {
  const cache = new LRUCache<string, VersionedRules>({ max: maxCachedBays });
  const schedules = createScheduleCache();
  const keyOf = ({ facilityId, bayId }: Bay): string => JSON.stringify([facilityId, bayId]);

  /**
   * Reads the current rules of the bay, and caches them. The rules apply to intervals that start at `start` (in
   * milliseconds since 1970) or later. Returns undefined if the bay does not exist.
   */
  async function read(bay: Bay, start: number): Promise<VersionedRules | undefined> {
    // If `start` is later than a day ago, this function reads the rules from a day ago on. Most other requests can then
    // use the cached rules, because few requests are for intervals that started more than a day ago.
    const since = Math.min(start, Date.now() - day);
    const [row] = await query<Row>(db, ruleReads.rules, [bay.facilityId, bay.bayId, new Date(since).toISOString()]);
    if (!row) return undefined;
    const { bookable, version, timeZone, hours, closures } = row;
    const rules = { bookable, version, since, schedule: schedules.get(hours, timeZone), closures: closures ?? [] };
    cache.set(keyOf(bay), rules);
    return rules;
  }

  return {
    read,

    /**
     * Returns the cached rules of the bay, which can be out of date. Reads the rules if no cached rules apply at the
     * start of the interval.
     */
    find: async (bay: Bay, { start }: Interval): Promise<VersionedRules | undefined> => {
      const cached = cache.get(keyOf(bay));
      return cached && cached.since <= start ? cached : read(bay, start);
    },
  };
}

export interface ScheduleCache {
  get(hours: OpeningHours | null, timeZone: string): Schedule;
}

/**
 * Creates a cache of schedules. All bays with the same opening hours and the same time zone share one schedule. A
 * schedule also caches the intervals during which the location is open on each day, so the bays share these intervals.
 */
export function createScheduleCache(): ScheduleCache {
  const schedules = new LRUCache<string, Schedule>({ max: maxCachedSchedules });
  return {
    get: (hours, timeZone) => {
      if (!hours) return alwaysOpen;
      const key = JSON.stringify([hours, timeZone]);
      const schedule = schedules.get(key) ?? createSchedule(hours, timeZone);
      schedules.set(key, schedule);
      return schedule;
    },
  };
}
