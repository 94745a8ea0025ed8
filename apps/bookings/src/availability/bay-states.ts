// Reads what decides whether times of bays can be booked: rules, closures, bookings and holds.
import { type Queryable, query } from '@bay-booking/service/database/database';
import type { OpeningHours } from '../opening-hours/hours.ts';
import { findSchedule } from '../opening-hours/schedule.ts';
import type { Interval } from '../time/interval.ts';
import type { BayState, Closure, HeldTime, TakenTime } from './rule.ts';

export interface FoundBay extends BayState {
  readonly locationId: string;
}

interface Row {
  readonly id: string;
  readonly bookable: boolean;
  readonly locationId: string;
  readonly timeZone: string;
  readonly hours: OpeningHours | null;
  readonly closures: readonly Closure[] | null;
  readonly bookings: readonly TakenTime[] | null;
  readonly holds: readonly HeldTime[] | null;
}

const milliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint`;
const times = `'start', ${milliseconds('start_date')}, 'end', ${milliseconds('end_date')}`;

// A subquery hides the value from the planner of PostgreSQL. It would otherwise plan the statement again for every
// execution, which takes longer than the execution.
const bayIds = '(select $2::text[])::text[]';
const from = '(select $3::timestamptz)';
const to = '(select $4::timestamptz)';

/**
 * Reads the bays $2, and what touches the interval from $3 to $4. The bookings of a bay do not overlap, so of those
 * that began before the interval, only the last one can reach into it.
 */
const bayStates = `select bay.id, bay.bookable, bay.location_id as "locationId", facility.time_zone as "timeZone",
  location.opening_hours as hours, (
    select json_agg(json_build_object(${times}, 'reason', reason) order by start_date, id) from booking_closure
    where facility_id = $1 and end_date > ${from} and start_date <= ${to}
      and (location_id = bay.location_id or bay.id = any(bay_ids))
  ) as closures, (
    select json_agg(json_build_object('id', id, ${times})) from (
      (select id, start_date, end_date from booking where facility_id = $1 and bay_id = bay.id
        and start_date < ${from} order by start_date desc limit 1)
      union all
      select id, start_date, end_date from booking where facility_id = $1 and bay_id = bay.id
        and start_date >= ${from} and start_date <= ${to}
    ) taken
  ) as bookings, (
    select json_agg(json_build_object('id', id, ${times}, 'expiresAt', ${milliseconds('expires_at')}))
    from booking_hold where facility_id = $1 and bay_id = bay.id and expires_at > clock_timestamp()
      and start_date <= ${to} and end_date >= ${from}
  ) as holds
from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
join facility on facility.id = bay.facility_id
where bay.facility_id = $1 and bay.id = any(${bayIds})`;

/**
 * Returns the bays that exist, by id. In a transaction, a statement before this one must have locked the bays. Without
 * an interval, the bays have no closures, bookings and holds.
 */
export async function readBayStates(
  on: Queryable,
  facilityId: string,
  ids: readonly string[],
  interval: Interval | undefined,
): Promise<ReadonlyMap<string, FoundBay>> {
  const period = interval ? [interval.start, interval.end].map((time) => new Date(time).toISOString()) : [null, null];
  const rows = await query<Row>(on, bayStates, [facilityId, ids, ...period]);
  return new Map(
    rows.map(({ id, bookable, locationId, timeZone, hours, closures, bookings, holds }) => [
      id,
      {
        bookable,
        locationId,
        schedule: findSchedule(hours, timeZone),
        closures: closures ?? [],
        bookings: bookings ?? [],
        holds: holds ?? [],
      },
    ]),
  );
}
