// Locks bays and reads everything that decides whether one can be booked: rules, closures, bookings and holds.
import {
  type Database,
  type Queryable,
  query,
  queryOne,
  type Transaction,
} from '@bay-booking/service/database/database';
import { alwaysOpen, type Schedule } from '../opening-hours/schedule.ts';
import { findSchedules, type HoursOfFirstBay, hoursOfFirstBay } from '../opening-hours/store.ts';
import { type Interval, intervalOf, type Period } from '../time/interval.ts';
import type { BayState } from './rule.ts';

export interface FoundBay extends BayState {
  readonly locationId: string;
}

// PostgreSQL plans `any($2)` at every execution: 45 µs.
const lockBay = 'select id from bay where facility_id = $1 and id = $2 for no key update';
const lockSomeBays = 'select id from bay where facility_id = $1 and id = any($2) order by id for no key update';

/**
 * Locks bays before a transaction takes time of them (the order of locks is in database/locks.ts). Later statements see
 * everything that earlier holders of the lock have written.
 */
export function lockBays(tx: Transaction, facilityId: string, bayIds: readonly string[]): Promise<unknown> {
  const [first, ...others] = bayIds;
  if (others.length === 0) return query(tx, lockBay, [facilityId, first]);
  return query(tx, lockSomeBays, [facilityId, bayIds]);
}

type Seconds = readonly [start: number, end: number];

/** Times as strings are in UTC without `Z`, times as numbers in seconds since 1970. */
interface Row extends HoursOfFirstBay {
  readonly id: string;
  /** The position in the list of wanted bays, from 1. */
  readonly n: number;
  readonly bookable: boolean;
  readonly timeZone: string;
  readonly closures: readonly (Period & { readonly reason: string | null })[] | null;
  readonly bookings: readonly Seconds[] | null;
  readonly holds: readonly (Period & { readonly expiresAt: string })[] | null;
}

interface ClosedRow {
  /** The id of a bay or a location. */
  readonly id: string;
  readonly isLocation: boolean;
  readonly times: readonly Seconds[];
}

// A subquery hides the value from PostgreSQL's planner, which would otherwise plan the statement again for every
// execution. Planning takes longer than the execution.
const bayIds = '(select $2::text[])::text[]';

// In other time zones, offsets of early years contain seconds, which JavaScript cannot read.
const utc = (column: string, field: string): string => `${column} at time zone 'UTC' as "${field}"`;
const times = `${utc('start_date', 'startDate')}, ${utc('end_date', 'endDate')}`;
const bookingsOfBay = `select start_date, end_date from booking where facility_id = $1 and bay_id = bay.id
  and id <> all($5::uuid[])`;

const firstClosure = `(
    select json_agg(closure) from (
      select ${times}, reason from booking_closure
      where facility_id = $1 and end_date > wanted.start_date and start_date <= wanted.end_date
        and (location_id = bay.location_id or bay.id = any(bay_ids))
      order by start_date, id limit 1
    ) closure
  )`;

/**
 * Reads the bays $2, and everything that touches the interval of each from $3 to $4, except the bookings $5 and the
 * holds $6. A bay's bookings do not overlap, so only the last one that began before the interval can reach into it.
 * `which` selects from the others. Because of `limit 1`, PostgreSQL does not read all bays of the facility.
 */
const bayStates = ({
  closures,
  which,
}: {
  readonly closures: string;
  readonly which: string;
}) => `select n::integer, bay.id, bay.bookable, bay.location_id as "locationId",
  (select time_zone from facility where id = $1) as "timeZone",
  ${hoursOfFirstBay}, ${closures} as closures, (
    select json_agg(array[date_part('epoch', start_date), date_part('epoch', end_date)]) from (
      (${bookingsOfBay} and start_date < wanted.start_date order by start_date desc limit 1)
      union all
      (${bookingsOfBay} and start_date >= wanted.start_date and start_date <= wanted.end_date ${which})
    ) taken
  ) as bookings, (
    select json_agg(hold) from (
      select ${times}, ${utc('expires_at', 'expiresAt')} from booking_hold where facility_id = $1 and bay_id = bay.id
        and expires_at > clock_timestamp() and id <> all($6::uuid[])
        and start_date <= wanted.end_date and end_date >= wanted.start_date
    ) hold
  ) as holds
from unnest(${bayIds}, (select $3::timestamptz[])::timestamptz[], (select $4::timestamptz[])::timestamptz[])
  with ordinality wanted (bay_id, start_date, end_date, n)
cross join lateral (
  select id, bookable, location_id from bay where facility_id = $1 and id = wanted.bay_id and removed_at is null limit 1
) bay
join location on location.facility_id = $1 and location.id = bay.location_id`;

/** If the first closure or booking does not overlap the interval, a later one does not either. */
const statesWithFirst = bayStates({ closures: firstClosure, which: 'order by start_date limit 1' });
const statesWithoutClosures = bayStates({ closures: 'null', which: '' });

/**
 * Reads when the bays $2 and their locations are closed between $3 and $4, in seconds since 1970. Closures that touch
 * or overlap are joined. A location's closure is read once, however many bays the location has.
 */
const closedTimes = `with closure as materialized (
  select location_id, bay_ids, tstzrange(start_date, end_date) as time from booking_closure
  where facility_id = $1 and end_date > (select $3::timestamptz) and start_date <= (select $4::timestamptz)
), closed as (
  select location_id as id, true as is_location, range_agg(time) as times from closure
  where location_id in (select location_id from bay where facility_id = $1 and id = any(${bayIds})) group by location_id
  union all
  select bay_id, false, range_agg(time) from closure cross join unnest(bay_ids) bay_id
  where bay_id in (select unnest(${bayIds})) group by bay_id
)
select id, is_location as "isLocation", (
  select json_agg(array[date_part('epoch', lower(time)), date_part('epoch', upper(time))]) from unnest(times) time
) as times from closed`;

/** Returns the time of the database. Its clock decides when holds expire. */
export async function readClock(db: Queryable): Promise<string> {
  const row = await queryOne<{ now: string }>(db, 'select clock_timestamp()::timestamptz(3) as now');
  if (!row) throw new Error('the database returned no time');
  return row.now;
}

/** Bookings and holds that do not prevent a request. */
export interface Exceptions {
  /** The bookings that the request changes or deletes. */
  readonly bookingIds?: readonly string[] | undefined;
  /** The holds that the request uses. */
  readonly holdIds?: readonly string[] | undefined;
}

/** If `times` is undefined, closures, bookings and holds are not read. */
interface WantedTime {
  readonly bayId: string;
  readonly times: Period | undefined;
}

/**
 * Returns the bay of each wanted time, or undefined if it does not exist. In a transaction, an earlier statement must
 * have locked the bays.
 */
export async function readBayStates(
  on: Queryable,
  facilityId: string,
  wanted: readonly WantedTime[],
  { bookingIds = [], holdIds = [] }: Exceptions = {},
): Promise<readonly (FoundBay | undefined)[]> {
  const rows = await query<Row>(on, statesWithFirst, [facilityId, ...valuesOf(wanted), bookingIds, holdIds]);
  const found = new Map(toBays(rows).map(({ row, bay }) => [row.n, bay]));
  return wanted.map((_wanted, index) => found.get(index + 1));
}

function valuesOf(wanted: readonly WantedTime[]): readonly (readonly (string | undefined)[])[] {
  return [
    wanted.map(({ bayId }) => bayId),
    wanted.map(({ times }) => times?.startDate),
    wanted.map(({ times }) => times?.endDate),
  ];
}

/** Returns the existing bays by id. Reasons of closures are left out, so that many closures take little time. */
export async function readBayStatesWithoutReasons(
  db: Database,
  facilityId: string,
  ids: readonly string[],
  times: Period,
  holdId: string | undefined,
): Promise<ReadonlyMap<string, FoundBay>> {
  const wanted = ids.map((bayId) => ({ bayId, times }));
  const [rows, closed] = await Promise.all([
    query<Row>(db, statesWithoutClosures, [facilityId, ...valuesOf(wanted), [], holdId === undefined ? [] : [holdId]]),
    query<ClosedRow>(db, closedTimes, [facilityId, ids, times.startDate, times.endDate]),
  ]);
  const closuresOf = (isLocation: boolean) =>
    new Map(
      closed
        .filter((row) => row.isLocation === isLocation)
        .map(({ id, times }) => [id, times.map((time) => ({ ...ofSeconds(time), reason: null }))]),
    );
  const [ofLocations, ofBays] = [closuresOf(true), closuresOf(false)];
  return new Map(
    toBays(rows).map(({ row, bay }) => {
      const closures = [...(ofLocations.get(row.locationId) ?? []), ...(ofBays.get(row.id) ?? [])];
      return [row.id, { ...bay, closures }];
    }),
  );
}

function ofSeconds([start, end]: Seconds): Interval {
  return { start: Math.round(start * 1_000), end: Math.round(end * 1_000) };
}

function toBays(rows: readonly Row[]): readonly { readonly row: Row; readonly bay: FoundBay }[] {
  const schedules = findSchedules(rows, rows[0]?.timeZone);
  return rows.map((row) => ({ row, bay: toBay(row, schedules.get(row.locationId) ?? alwaysOpen) }));
}

function toBay({ bookable, locationId, closures, bookings, holds }: Row, schedule: Schedule): FoundBay {
  return {
    bookable,
    locationId,
    schedule,
    closures: (closures ?? []).map((closure) => ({ ...toInterval(closure), reason: closure.reason })),
    bookings: (bookings ?? []).map(ofSeconds),
    holds: (holds ?? []).map((hold) => ({
      ...toInterval(hold),
      expiresAt: new Date(`${hold.expiresAt}Z`).toISOString(),
    })),
  };
}

function toInterval({ startDate, endDate }: Period): Interval {
  return intervalOf({ startDate: `${startDate}Z`, endDate: `${endDate}Z` });
}
