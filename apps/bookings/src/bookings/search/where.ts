// Translates a filter to SQL conditions.
//
// An array is a single parameter. The number of different statement texts therefore stays small, and each connection
// prepares a text once.
import { bookedRange } from '../storage/statements.ts';
import type { BookingFilter, TimeFilter } from './filter.ts';

export interface Criteria extends BookingFilter {
  /** Never empty. */
  readonly facilities: readonly string[];
  readonly now: Date;
  /**
   * Bookings of one facility that are in progress or in the future. `todayOnly`: of the current day in its time zone.
   */
  readonly upcoming?: { readonly todayOnly: boolean } | undefined;
}

/** Adds a value to the parameters of a statement and returns its placeholder, such as `$3`. */
export type Bind = (value: unknown) => string;

/** Whether the filter names bookings, bays or an alias, so that an index finds few rows. */
export function isSelective({ ids, externalBookingIds, correlationIds, bayIds, userAlias }: Criteria): boolean {
  return [ids, externalBookingIds, correlationIds, bayIds, userAlias].some((filter) => filter !== undefined);
}

/**
 * The right side of a condition: `= $1::text` or `= any($1)`. With a single value, PostgreSQL can return rows in the
 * order of an index. With an array it must sort them.
 */
export function oneOf(values: readonly string[], bind: Bind): string {
  return values.length === 1 ? `= ${bind(values[0])}::text` : `= any(${bind(values)})`;
}

/**
 * Dates of bookings have the years 1 to 9999 (date-times.ts). PostgreSQL reads other years differently from ISO 8601,
 * so they become an infinity.
 */
export function bindInstant(instant: Date, bind: Bind): string {
  const year = instant.getUTCFullYear();
  if (year < 1) return `${bind('-infinity')}::timestamptz`;
  return `${bind(year > 9999 ? 'infinity' : instant.toISOString())}::timestamptz`;
}

/**
 * The instant that splits a search in two: bookings in progress at this instant, and bookings that start later. A
 * single condition for both would make PostgreSQL sort every future booking. Undefined if the search does not split.
 */
export function splitInstant({ time, isActive, upcoming, ...criteria }: Criteria): Date | undefined {
  if (upcoming) return criteria.now;
  if (isSelective(criteria) || time?.kind === 'within') return undefined;
  if (time?.start) return time.start;
  return isActive === true ? criteria.now : undefined;
}

const hour = 3_600_000;
/** Must equal the condition of the partial index booking_long. */
const isLong = "end_date - start_date > interval '4 hours'";

/**
 * Conditions for the bookings in progress at an instant, in two parts that are each bounded by an index: bookings of up
 * to four hours, and longer ones. There is at most one such booking per bay. A booking whose start and end both equal
 * the instant is in progress, but it is not active, so `isActive` excludes it.
 */
export function inProgressAt(instant: Date, isActive: boolean, bind: Bind): readonly [short: string[], long: string[]] {
  const at = bindInstant(instant, bind);
  const fourHoursBefore = bindInstant(new Date(instant.getTime() - 4 * hour), bind);
  const hasStarted = `start_date <= ${at}`;
  const hasNotEnded = `end_date > ${at}`;
  const short = isActive ? hasNotEnded : `(${hasNotEnded} or start_date = ${at})`;
  return [
    [hasStarted, short, `start_date >= ${fourHoursBefore}`, `not (${isLong})`],
    [hasStarted, hasNotEnded, isLong],
  ];
}

/** $1 is the only facility of the search. An import can change its time zone at any moment, so it is not cached. */
const timeZone = '(select time_zone from facility where id = $1)';

/**
 * The end of the day bounds the range of the index. If the clocks go back at midnight, midnight occurs twice. The
 * comparison of the dates decides then.
 */
function startsToday(criteria: Criteria, bind: Bind): string {
  const localNow = `${bindInstant(criteria.now, bind)} at time zone ${timeZone}`;
  const midnight = `(date_trunc('day', ${localNow}) + interval '1 day') at time zone ${timeZone}`;
  return `start_date < ${midnight} and (start_date at time zone ${timeZone})::date <= (${localNow})::date`;
}

/**
 * All conditions of the search apart from the facilities and those that follow from `splitInstant`. `inBays` is the
 * result of `oneOf` for the bays.
 */
export function conditionsOf(criteria: Criteria, inBays: string | undefined, bind: Bind): string[] {
  const { ids, externalBookingIds, correlationIds, locationIds, userAlias, time, upcoming } = criteria;
  const conditions: string[] = [];
  if (ids) conditions.push(`id = any(${bind(ids)}::uuid[])`);
  if (externalBookingIds) conditions.push(`external_booking_id = any(${bind(externalBookingIds)})`);
  if (correlationIds) conditions.push(`correlation_id = any(${bind(correlationIds)})`);
  if (inBays) conditions.push(`bay_id ${inBays}`);
  if (locationIds) conditions.push(`location_id ${oneOf(locationIds, bind)}`);
  if (userAlias !== undefined) conditions.push(`user_alias = ${bind(userAlias)}`);
  if (time) conditions.push(...timeConditions(time, splitInstant(criteria), bind));
  if (upcoming?.todayOnly) conditions.push(startsToday(criteria, bind));
  conditions.push(...activeConditions(criteria, bind));
  return conditions;
}

function timeConditions({ kind, start, end }: TimeFilter, split: Date | undefined, bind: Bind): string[] {
  const to = end ? bindInstant(end, bind) : 'null';
  // `start_date <= to` follows from `end_date <= to`. It bounds the range of the index.
  if (kind === 'within')
    return [`start_date >= ${bindInstant(start, bind)} and start_date <= ${to} and end_date <= ${to}`];
  if (!start) return [`start_date < ${to}`];
  if (split) {
    if (!end) return [];
    // If the interval is an instant, only the bookings in progress overlap it.
    return [start.getTime() === end.getTime() ? `start_date <= ${to}` : `start_date < ${to}`];
  }
  const from = bindInstant(start, bind);
  // The range '[)' of an instant would be empty and overlap nothing.
  const bounds = end ? `, case when ${from} = ${to} then '[]' else '[)' end` : '';
  return [`${bookedRange} && tstzrange(${from}, ${to}${bounds})`];
}

function activeConditions(criteria: Criteria, bind: Bind): string[] {
  const { isActive, bayIds, now } = criteria;
  if (isActive === undefined || splitInstant(criteria) === now) return [];
  const at = bindInstant(now, bind);
  if (!isActive) return [`end_date <= ${at}`];
  // The second condition uses the index of the constraint booking_no_overlap, which contains the bay.
  return [`end_date > ${at}`, ...(bayIds ? [`${bookedRange} && tstzrange(${at}, null)`] : [])];
}
