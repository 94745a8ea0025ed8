// Reads and writes the opening hours of locations and keeps their schedules in memory. Browsers load schedule.ts, which
// therefore cannot import the cache.
import { type Database, query, queryOne, send, transaction } from '@bay-booking/service/database/database';
import { LRUCache } from 'lru-cache';
import { lockPlaces } from '../database/locks.ts';
import { apiError } from '../errors.ts';
import type { OpeningHours } from './hours.ts';
import { alwaysOpen, createSchedule, type Schedule } from './schedule.ts';

export interface HoursRow {
  readonly facilityId: string;
  readonly locationId: string;
  readonly timeZone: string;
  /** Null if the location is always open. */
  readonly hours: OpeningHours | null;
}

const findHours = `select location.facility_id as "facilityId", location.id as "locationId",
  facility.time_zone as "timeZone", location.opening_hours as hours
from location join facility on facility.id = location.facility_id
where location.removed_at is null and location.facility_id = any($1) and location.id = $2`;

const setHours = 'update location set opening_hours = $3::jsonb where facility_id = $1 and id = $2';

export type OpeningHoursStore = ReturnType<typeof createOpeningHoursStore>;

export function createOpeningHoursStore(db: Database) {
  return {
    find: (facilityIds: readonly string[], locationId: string): Promise<HoursRow | undefined> =>
      queryOne<HoursRow>(db, findHours, [facilityIds, locationId]),

    /**
     * Sets the opening hours of a location, unless `check` throws an error.
     * @throws {ApiError} 404 if the location was removed meanwhile
     */
    set: ({ facilityId, locationId }: HoursRow, hours: OpeningHours | null, check: (current: HoursRow) => void) =>
      transaction(db, async (tx) => {
        const [, [current]] = await Promise.all([
          lockPlaces(tx, { facilityId, locationIds: [locationId], bayIds: [] }),
          query<HoursRow>(tx, findHours, [[facilityId], locationId]),
        ]);
        if (!current) throw apiError('ERR00404');
        check(current);
        send(tx, setHours, [facilityId, locationId, hours && JSON.stringify(hours)]);
      }),
  };
}

/** A key contains the opening hours of the schedule, which can have 100 kB. */
const schedules = new LRUCache<string, Schedule>({
  max: 2_000,
  maxSize: 10_000_000,
  sizeCalculation: (_schedule, key) => key.length,
});

/** Returns the schedule of a location. Null means that it is always open. */
export function findSchedule(hours: OpeningHours | null, timeZone: string): Schedule {
  if (!hours) return alwaysOpen;
  // Most locations have the same hours as another one, so they share the cached openings of each day.
  const key = JSON.stringify([hours, timeZone]);
  const schedule = schedules.get(key) ?? createSchedule(hours, timeZone);
  schedules.set(key, schedule);
  return schedule;
}

/** A column for a query of bays. Only the first bay of each location has the opening hours, which can have 100 kB. */
export const hoursOfFirstBay = `case when row_number() over (partition by location.id) = 1
  then location.opening_hours end as hours`;

export interface HoursOfFirstBay {
  readonly locationId: string;
  readonly hours: OpeningHours | null;
}

/** Returns the schedules of the locations in the rows of one facility, by id. */
export function findSchedules(rows: readonly HoursOfFirstBay[], timeZone = 'UTC'): ReadonlyMap<string, Schedule> {
  const schedulesById = new Map<string, Schedule>();
  for (const { locationId, hours } of rows)
    if (hours || !schedulesById.has(locationId)) schedulesById.set(locationId, findSchedule(hours, timeZone));
  return schedulesById;
}
