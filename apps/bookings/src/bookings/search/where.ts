// Translates a filter to SQL conditions.
//
// An array is passed as a single parameter, so the text of a statement does not depend on the length of the array. The
// number of different texts stays small, and each connection prepares each text only once.
import { bookedRange } from '../storage/statements.ts';
import type { BookingFilter, TimeFilter } from './filter.ts';

export interface Criteria extends BookingFilter {
  /** The facilities in which the search finds bookings. Never empty. */
  readonly facilities: readonly string[];
  readonly now: Date;
  /**
   * Selects bookings that are in progress or in the future. The search then has exactly one facility. `todayOnly`
   * leaves out bookings that start after the current day in the time zone of the facility.
   */
  readonly upcoming?: { readonly todayOnly: boolean } | undefined;
}

/** Adds a value to the parameters of a statement and returns its placeholder, such as `$3`. */
export type Bind = (value: unknown) => string;

/**
 * Whether the filter contains booking ids, external ids, correlation ids, bays or an alias. An index then finds the few
 * matching rows.
 */
export function isSelective({ ids, externalBookingIds, correlationIds, bayIds, userAlias }: Criteria): boolean {
  return [ids, externalBookingIds, correlationIds, bayIds, userAlias].some((filter) => filter !== undefined);
}

/**
 * Builds the right side of a condition: `= $1::text` for a single value, or else `= any($1)`. With a single value,
 * PostgreSQL can return rows in the order of an index. With an array, PostgreSQL must sort the rows.
 */
export function oneOf(values: readonly string[], bind: Bind): string {
  return values.length === 1 ? `= ${bind(values[0])}::text` : `= any(${bind(values)})`;
}

/**
 * Adds an instant to the parameters of a statement. Dates of bookings are in the years 1 to 9999 (date-times.ts).
 * PostgreSQL does not read other years as ISO 8601 defines them, so they are replaced by -infinity or infinity.
 */
export function bindInstant(instant: Date, bind: Bind): string {
  const year = instant.getUTCFullYear();
  if (year < 1) return `${bind('-infinity')}::timestamptz`;
  return `${bind(year > 9999 ? 'infinity' : instant.toISOString())}::timestamptz`;
}

/**
 * Returns the instant at which a search is split: into bookings in progress at this instant, and bookings that start
 * later. A single condition would make PostgreSQL sort every future booking. Undefined if the search is not split.
 */
export function splitInstant({ time, isActive, upcoming, ...criteria }: Criteria): Date | undefined {
  if (upcoming) return criteria.now;
  if (isSelective(criteria) || time?.kind === 'within') return undefined;
  if (time?.start) return time.start;
  return isActive === true ? criteria.now : undefined;
}

const fourHoursMs = 4 * 3_600_000;
/** Must equal the condition of the partial index booking_long. */
const isLong = "end_date - start_date > interval '4 hours'";

/**
 * Returns two lists of conditions for the bookings in progress at an instant: for bookings of up to four hours, and for
 * longer bookings, which the partial index booking_long finds. A booking whose start and end both equal the instant is
 * in progress but not active. It is found unless `isActive` is true.
 */
export function inProgressAt(instant: Date, isActive: boolean, bind: Bind): readonly [short: string[], long: string[]] {
  const at = bindInstant(instant, bind);
  const fourHoursBefore = bindInstant(new Date(instant.getTime() - fourHoursMs), bind);
  const hasStarted = `start_date <= ${at}`;
  const hasNotEnded = `end_date > ${at}`;
  const shortHasNotEnded = isActive ? hasNotEnded : `(${hasNotEnded} or start_date = ${at})`;
  return [
    [hasStarted, shortHasNotEnded, `start_date >= ${fourHoursBefore}`, `not (${isLong})`],
    [hasStarted, hasNotEnded, isLong],
  ];
}

/** The time zone of the facility, whose id is $1. It is not cached, because an import can change it at any moment. */
const timeZone = '(select time_zone from facility where id = $1)';

/**
 * Builds the conditions for bookings that start today or earlier. The comparison with midnight limits the range of the
 * index. The comparison of the dates is needed when the clocks go back from 01:00 to midnight. Midnight then occurs
 * twice, and PostgreSQL takes the second one, so the first comparison also finds bookings in the hour before it.
 */
function startsBeforeTomorrow(criteria: Criteria, bind: Bind): string {
  const localNow = `${bindInstant(criteria.now, bind)} at time zone ${timeZone}`;
  const midnight = `(date_trunc('day', ${localNow}) + interval '1 day') at time zone ${timeZone}`;
  return `start_date < ${midnight} and (start_date at time zone ${timeZone})::date <= (${localNow})::date`;
}

/**
 * Returns the conditions of the search. The condition for its facilities is not included. If `splitInstant` splits the
 * search, the conditions in which its parts differ are not included either. `inBays` is the result of `oneOf` for
 * the bays.
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
  if (upcoming?.todayOnly) conditions.push(startsBeforeTomorrow(criteria, bind));
  conditions.push(...activeConditions(criteria, bind));
  return conditions;
}

/**
 * Returns the conditions that compare the bookings with the interval of the filter. If the search is split at the start
 * of the interval (see `splitInstant`), each part of the search adds a comparison with this start. This function then
 * returns only the comparison with the end of the interval.
 */
function timeConditions({ kind, start, end }: TimeFilter, split: Date | undefined, bind: Bind): string[] {
  const to = end ? bindInstant(end, bind) : 'null';
  // `start_date <= to` is redundant because of `end_date <= to`, but it limits the range of the index.
  if (kind === 'within')
    return [`start_date >= ${bindInstant(start, bind)} and start_date <= ${to} and end_date <= ${to}`];
  if (!start) return [`start_date < ${to}`];
  if (split) {
    if (!end) return [];
    // If the interval is an instant, it overlaps only bookings that start at or before the instant.
    return [start.getTime() === end.getTime() ? `start_date <= ${to}` : `start_date < ${to}`];
  }
  const from = bindInstant(start, bind);
  // If `start` and `end` are equal, the range needs the bounds '[]'. With '[)', it would be empty and overlap no
  // booking.
  const bounds = end ? `, case when ${from} = ${to} then '[]' else '[)' end` : '';
  return [`${bookedRange} && tstzrange(${from}, ${to}${bounds})`];
}

function activeConditions(criteria: Criteria, bind: Bind): string[] {
  const { isActive, bayIds, now } = criteria;
  // If `splitInstant` returns the object `criteria.now` itself, the search is split at `now`. The conditions of its
  // parts (search/statements.ts) then already select only active bookings.
  if (isActive === undefined || splitInstant(criteria) === now) return [];
  const at = bindInstant(now, bind);
  if (!isActive) return [`end_date <= ${at}`];
  // The second condition excludes no further bookings. It lets PostgreSQL use the index of the constraint
  // booking_no_overlap, which contains the bay.
  return [`end_date > ${at}`, ...(bayIds ? [`${bookedRange} && tstzrange(${at}, null)`] : [])];
}
