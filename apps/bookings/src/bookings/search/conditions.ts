// Translates a search to SQL conditions and says in which order PostgreSQL should read the bookings.
import { equalsOneOf, hashOfBay, type Size } from '../../database/sql.ts';
import { bookedRange } from '../storage/columns.ts';
import type { BookingFilter, TimeFilter } from './filter.ts';
import { filterCondition, filterNames } from './filters.ts';

export interface Criteria extends BookingFilter {
  /** The facilities to search. Never empty. */
  readonly facilities: readonly string[];
  readonly now: Date;
  /**
   * Selects bookings that are in progress or in the future. The search then has exactly one facility. `todayOnly`
   * leaves out bookings that start after the current day in the time zone of the facility.
   */
  readonly upcoming?: { readonly todayOnly: boolean } | undefined;
}

/** SQL with a question mark for each value. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly unknown[];
}

const condition = (sql: string, ...values: readonly unknown[]): Condition => ({ sql, values });

export function conditionsOf(criteria: Criteria): readonly Condition[] {
  const { facilities, bayIds, isActive, time, upcoming } = criteria;
  const now = instantText(criteria.now);
  const conditions = [condition(`facility_id ${equalsOneOf(sizeOf(facilities))}`, parameterOf(facilities))];
  for (const name of filterNames) {
    if (criteria[name] === undefined) continue;
    const [sql, parameters] = filterCondition(name, sizeOf(criteria[name]));
    const values = parameters.map((parameter) => parameterOf(criteria[parameter as keyof Criteria]));
    conditions.push(condition(sql, ...values));
  }
  if (time) conditions.push(...timeConditions(time, bayIds));
  if (isActive !== undefined) conditions.push(condition(`end_date ${isActive ? '>' : '<='} ?::timestamptz`, now));
  const from = isActive || upcoming ? now : undefined;
  if (from !== undefined) conditions.push(...notEndedBefore(from, bayIds));
  if (upcoming?.todayOnly) conditions.push(...startsBeforeTomorrow(now, facilities[0] as string));
  return conditions;
}

/**
 * Whether an index has the bookings in the order of the list, and most of the bookings that PostgreSQL reads there
 * match. The page is then read from this index until it is full.
 */
export function isReadInOrder(criteria: Criteria): boolean {
  const { facilities, locationIds = [], bayIds = [], time, isActive, upcoming } = criteria;
  const others = filterNames.filter((name) => name !== 'locationIds' && name !== 'bayIds');
  if (facilities.length > 1 || locationIds.length + bayIds.length > 1) return false;
  if (upcoming || isActive || (time?.kind === 'overlapping' && time.start)) return false;
  return others.every((name) => criteria[name] === undefined);
}

const sizeOf = (value: unknown): Size => (Array.isArray(value) && value.length !== 1 ? 'several' : 'one');
const parameterOf = (value: unknown): unknown => (Array.isArray(value) && value.length === 1 ? value[0] : value);

function timeConditions({ kind, start, end }: TimeFilter, bayIds: readonly string[] | undefined): readonly Condition[] {
  if (kind === 'within')
    return [
      condition('start_date >= ?::timestamptz', instantText(start)),
      // This condition follows from the next one, but limits the range of the index.
      condition('start_date <= ?::timestamptz', instantText(end)),
      condition('end_date <= ?::timestamptz', instantText(end)),
    ];
  // The interval excludes its end, unless it is an instant.
  const isInstant = start?.getTime() === end?.getTime();
  return [
    ...(end ? [condition(`start_date ${isInstant ? '<=' : '<'} ?::timestamptz`, instantText(end))] : []),
    ...(start ? notEndedBefore(instantText(start), bayIds, end && instantText(end)) : []),
  ];
}

/**
 * The bookings that end after the instant, or that start and end at the instant.
 *
 * For bays, the index of the constraint booking_no_overlap has the times. For facilities and locations, an index by
 * start has the bookings that began within the last four hours, and the small index booking_long the longer ones.
 */
function notEndedBefore(at: string, bayIds: readonly string[] | undefined, until?: string): readonly Condition[] {
  if (bayIds)
    return [
      condition(hashOfBay(sizeOf(bayIds), '?'), parameterOf(bayIds)),
      condition(`${bookedRange} && tstzrange(?::timestamptz, ?::timestamptz, '[]')`, at, until ?? null),
    ];
  return [
    condition('(end_date > ?::timestamptz or start_date = ?::timestamptz)', at, at),
    // The second part must equal the condition of the partial index booking_long.
    condition(`(start_date > ?::timestamptz - interval '4 hours' or end_date - start_date > interval '4 hours')`, at),
  ];
}

/** An import can change the time zone. */
const timeZone = '(select time_zone from facility where id = ?::text)';

/**
 * The comparison with midnight limits the range of the index. The comparison of the dates is needed when the clocks go
 * back from 01:00 to midnight: midnight then occurs twice, and PostgreSQL takes the second one.
 */
const startsBeforeTomorrow = (now: string, facilityId: string): readonly Condition[] => [
  condition(
    `start_date < (date_trunc('day', ?::timestamptz at time zone ${timeZone}) + interval '1 day') at time zone ${timeZone}`,
    now,
    facilityId,
    facilityId,
  ),
  condition(
    `(start_date at time zone ${timeZone})::date <= (?::timestamptz at time zone ${timeZone})::date`,
    facilityId,
    now,
    facilityId,
  ),
];

/**
 * Returns an instant as a parameter. Bookings have dates in the years 1 to 9999 (date-times.ts). PostgreSQL does not
 * read other years as ISO 8601 defines them.
 */
export function instantText(instant: Date): string {
  const year = instant.getUTCFullYear();
  if (year < 1) return '-infinity';
  return year > 9999 ? 'infinity' : instant.toISOString();
}
