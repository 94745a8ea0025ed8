// Reads the data of a facility's usage: bays with their opening hours, bookings and deletions.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { alwaysOpen } from '../opening-hours/schedule.ts';
import { findSchedules, type HoursOfFirstBay, hoursOfFirstBay } from '../opening-hours/store.ts';
import { byBayName } from '../places/store.ts';
import type { Interval } from '../time/interval.ts';
import type { UsedRow } from './count.ts';

export interface UsageFilter {
  readonly facilityId: string;
  readonly locationIds?: readonly string[] | undefined;
  readonly bayIds?: readonly string[] | undefined;
}

interface BayRow extends HoursOfFirstBay {
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly removedAt: number | null;
}

// Also bays that were removed, because they have past bookings.
const findBays = `select bay.id, location.id as "locationId", ${hoursOfFirstBay},
  date_part('epoch', bay.removed_at) * 1000 as "removedAt"
from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
where bay.facility_id = $1 and ($2::text[] is null or bay.location_id = any($2)) and ($3::text[] is null or bay.id = any($3))
order by ${byBayName}`;

/** A JSON array of times, in milliseconds since 1970. */
const timesOf = (column: string, condition: string): string =>
  `coalesce(to_json(array_agg((date_part('epoch', ${column}) * 1000)::bigint) filter (where ${condition})), '[]')`;

/**
 * Reads the bookings that touch the interval from $2 to $3, and the deletions of those that would have begun in it. A
 * booking that moved to another facility was not cancelled. $4 are bays; null: all.
 *
 * As in searches, the bookings that began before the interval began in the last four hours or are in the index
 * booking_long. The conditions for deletions are those of the index booking_change_by_former_place.
 */
const usageBy = (source: string): string => `with entry as (
  select id, bay_id, start_date, end_date, metadata ->> 'attendance' = 'no-show' as is_no_show, false as is_deleted
  from booking
  where facility_id = $1 and start_date < $3 and (end_date > $2 or start_date = $2)
    and (start_date > $2::timestamptz - interval '4 hours' or end_date - start_date > interval '4 hours')
    and ($4::text[] is null or bay_id = any($4))
  union all
  select booking_id, before ->> 'bayId', lower(before_time), upper(before_time), false, true
  from booking_change
  where facility_id = $1 and before_time is not null and before_time && tstzrange($2, $3)
    and lower(before_time) >= $2 and action = 'deleted' and other_facility_id is null
    and ($4::text[] is null or before ->> 'bayId' = any($4))
)
select key, ${timesOf('start_date', 'not is_deleted')} as starts, ${timesOf('end_date', 'not is_deleted')} as ends,
  ${timesOf('start_date', 'is_no_show')} as "noShows", ${timesOf('start_date', 'is_deleted')} as cancellations
from ${source} group by key order by key collate "C" nulls last`;

/** A booking that came from another facility has a later version here. */
const createdFirst = 'created.facility_id = $1 and created.booking_id = entry.id and created.version = 1';
const createdLater = `select client_id from booking_change
where facility_id = $1 and booking_id = entry.id and action = 'created' order by version limit 1`;

const statements = {
  bay: usageBy('(select bay_id as key, * from entry) used'),
  client: usageBy(`(select coalesce(created.client_id, (${createdLater})) as key, entry.*
  from entry left join booking_change created on ${createdFirst}) used`),
};

export type UsageStore = ReturnType<typeof createUsageStore>;

export function createUsageStore(db: Queryable) {
  return {
    findBays: async ({ facilityId, locationIds, bayIds }: UsageFilter, timeZone: string) => {
      const rows = await query<BayRow>(db, findBays, [facilityId, locationIds ?? null, bayIds ?? null]);
      const schedules = findSchedules(rows, timeZone);
      return rows.map(({ id, locationId, removedAt }) => ({
        id,
        schedule: schedules.get(locationId) ?? alwaysOpen,
        removedAt: removedAt ?? undefined,
      }));
    },

    /** Returns a row for each bay or client with a booking or a deletion. `bayIds` limits the bays. */
    findUse: (by: keyof typeof statements, facilityId: string, { start, end }: Interval, bayIds?: readonly string[]) =>
      query<UsedRow>(db, statements[by], [facilityId, new Date(start), new Date(end), bayIds ?? null]),
  };
}
