// Reads what decides whether times of bays can be booked: rules, closures, bookings and holds.
import { type Queryable, query } from '@bay-booking/service/database/database';
import type { OpeningHours } from '../opening-hours/hours.ts';
import { findSchedule } from '../opening-hours/schedule.ts';
import { type Interval, intervalOf, type Times } from '../time/interval.ts';
import type { BayState } from './rule.ts';

export interface FoundBay extends BayState {
  readonly locationId: string;
}

/** The times are in UTC without `Z`. */
interface Row {
  readonly id: string;
  readonly bookable: boolean;
  readonly locationId: string;
  readonly timeZone: string;
  readonly hours: OpeningHours | null;
  readonly closures: readonly (Times & { readonly reason: string | null })[] | null;
  readonly bookings: readonly Times[] | null;
  readonly holds: readonly (Times & { readonly expiresAt: string })[] | null;
}

// A subquery hides the value from the planner of PostgreSQL. It would otherwise plan the statement again for every
// execution, which takes longer than the execution.
const bayIds = '(select $2::text[])::text[]';
const from = '(select $3::timestamptz)';
const to = '(select $4::timestamptz)';

// In another time zone than UTC, JavaScript could not read the offsets of early years, which contain seconds.
const utc = (column: string, field: string): string => `${column} at time zone 'UTC' as "${field}"`;
const times = `${utc('start_date', 'startDate')}, ${utc('end_date', 'endDate')}`;
const bookingsOfBay = `select ${times} from booking where facility_id = $1 and bay_id = bay.id
  and id is distinct from $5::uuid`;

/**
 * Reads the bays $2, and what touches the interval from $3 to $4, except the booking $5 and the holds $6. The bookings
 * of a bay do not overlap, so of those that began before the interval, only the last one can reach into it.
 */
const bayStates = `select bay.id, bay.bookable, bay.location_id as "locationId", facility.time_zone as "timeZone",
  location.opening_hours as hours, (
    select json_agg(closure) from (
      select ${times}, reason from booking_closure where facility_id = $1 and end_date > ${from}
        and start_date <= ${to} and (location_id = bay.location_id or bay.id = any(bay_ids))
      order by start_date, id
    ) closure
  ) as closures, (
    select json_agg(taken) from (
      (${bookingsOfBay} and start_date < ${from} order by start_date desc limit 1)
      union all
      ${bookingsOfBay} and start_date >= ${from} and start_date <= ${to}
    ) taken
  ) as bookings, (
    select json_agg(hold) from (
      select ${times}, ${utc('expires_at', 'expiresAt')} from booking_hold where facility_id = $1 and bay_id = bay.id
        and expires_at > clock_timestamp() and id <> all((select $6::uuid[])::uuid[])
        and start_date <= ${to} and end_date >= ${from}
    ) hold
  ) as holds
from bay join location on location.facility_id = bay.facility_id and location.id = bay.location_id
join facility on facility.id = bay.facility_id
where bay.facility_id = $1 and bay.id = any(${bayIds})`;

/** Returns the time of the database, whose clock decides when holds expire. */
export async function readClock(db: Queryable): Promise<string> {
  const [row] = await query<{ now: string }>(db, 'select clock_timestamp()::timestamptz(3) as now');
  if (!row) throw new Error('the database returned no time');
  return row.now;
}

/** What does not prevent a request. */
export interface Exceptions {
  /** The booking that the request changes. */
  readonly bookingId?: string | undefined;
  /** The holds that the request uses. */
  readonly holdIds?: readonly string[] | undefined;
}

/**
 * Returns the bays that exist, by id. In a transaction, a statement before this one must have locked the bays. Without
 * an interval, the bays have no closures, bookings and holds.
 */
export async function readBayStates(
  on: Queryable,
  facilityId: string,
  ids: readonly string[],
  interval: Interval | undefined,
  { bookingId, holdIds = [] }: Exceptions = {},
): Promise<ReadonlyMap<string, FoundBay>> {
  const period = interval ? [interval.start, interval.end].map((time) => new Date(time).toISOString()) : [null, null];
  const values = [facilityId, ids, ...period, bookingId ?? null, holdIds];
  const rows = await query<Row>(on, bayStates, values);
  return new Map(rows.map((row) => [row.id, toBay(row)]));
}

function toBay({ bookable, locationId, timeZone, hours, closures, bookings, holds }: Row): FoundBay {
  return {
    bookable,
    locationId,
    schedule: findSchedule(hours, timeZone),
    closures: (closures ?? []).map((closure) => ({ ...toInterval(closure), reason: closure.reason })),
    bookings: (bookings ?? []).map(toInterval),
    holds: (holds ?? []).map((hold) => ({
      ...toInterval(hold),
      expiresAt: new Date(`${hold.expiresAt}Z`).toISOString(),
    })),
  };
}

function toInterval({ startDate, endDate }: Times): Interval {
  return intervalOf({ startDate: `${startDate}Z`, endDate: `${endDate}Z` });
}
