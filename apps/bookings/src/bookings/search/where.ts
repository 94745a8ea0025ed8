// How does a filter read in SQL? Arrays are one parameter each, so that the texts are few and each is prepared once per connection.

import { bookedRange } from '../storage/statements.ts';
import type { BookingFilter, TimeFilter } from './filter.ts';

export interface Criteria extends BookingFilter {
  /** Never empty. */
  readonly facilities: readonly string[];
  readonly now: Date;
  /** In progress or still to come, of one facility; `todayOnly`: of the current day in its time zone. */
  readonly upcoming?: { readonly todayOnly: boolean } | undefined;
}

/** Makes a value a parameter. */
export type Bind = (value: unknown) => string;

export function isSelective({ ids, externalBookingIds, correlationIds, bayIds, userAlias }: Criteria): boolean {
  return [ids, externalBookingIds, correlationIds, bayIds, userAlias].some((filter) => filter !== undefined);
}

/** Of one value the index's order is the page's order; of an array the planner must sort. */
export function oneOf(column: string, values: readonly string[], bind: Bind): string {
  return values.length === 1 ? `${column} = ${bind(values[0])}::text` : `${column} = any(${bind(values)})`;
}

/** Beyond the years that a booking may have (times.ts) there is none, and PostgreSQL reads other years otherwise than ISO 8601. */
export function bindInstant(instant: Date, bind: Bind): string {
  const year = instant.getUTCFullYear();
  const known = year < 1 ? '-infinity' : year > 9999 ? 'infinity' : instant.toISOString();
  return `${bind(known)}::timestamptz`;
}

/**
 * From which moment on does the wanted list go, where it is what is going on then and what starts later? One condition for both would
 * have every row of the future sorted.
 */
export function beginOf({ time, isActive, upcoming, ...criteria }: Criteria): Date | undefined {
  if (upcoming) return criteria.now;
  if (isSelective(criteria) || time?.kind === 'within') return undefined;
  if (time?.start) return time.start;
  return isActive === true ? criteria.now : undefined;
}

const hour = 3_600_000;
/** Verbatim that of the index booking_long. */
const long = "end_date - start_date > interval '4 hours'";

/** What began before `moment`, or then, and is not over: no more rows than there are bays, each part bounded by an index. */
export function goingOnAt(moment: Date, active: boolean, bind: Bind): readonly [recent: string[], long: string[]] {
  const at = bindInstant(moment, bind);
  const recent = bindInstant(new Date(moment.getTime() - 4 * hour), bind);
  const started = `start_date <= ${at}`;
  // An instant at this moment is going on, but is over.
  const ends = active ? `end_date > ${at}` : `(end_date > ${at} or start_date = ${at})`;
  return [
    [started, ends, `start_date >= ${recent}`, `not (${long})`],
    [started, active ? ends : `end_date > ${at}`, long],
  ];
}

/** Of the one facility that $1 is; from the table, since an import may have changed it this moment. */
const zone = '(select time_zone from facility where id = $1)';

/** The end of the day bounds the walk; where the clocks go back at midnight it comes twice, and the date tells which is meant. */
function startsToday(criteria: Criteria, bind: Bind): string {
  const now = `${bindInstant(criteria.now, bind)} at time zone ${zone}`;
  const midnight = `(date_trunc('day', ${now}) + interval '1 day') at time zone ${zone}`;
  return `start_date < ${midnight} and (start_date at time zone ${zone})::date <= (${now})::date`;
}

/** All that `beginOf` and `goingOnAt` do not say. */
export function conditionsOf(criteria: Criteria, bind: Bind): string[] {
  const { ids, externalBookingIds, correlationIds, bayIds, locationIds, userAlias, isActive, time, upcoming } =
    criteria;
  const begin = beginOf(criteria);
  const conditions: string[] = [];
  if (ids) conditions.push(`id = any(${bind(ids)}::uuid[])`);
  if (externalBookingIds) conditions.push(`external_booking_id = any(${bind(externalBookingIds)})`);
  if (correlationIds) conditions.push(`correlation_id = any(${bind(correlationIds)})`);
  if (bayIds) conditions.push(oneOf('bay_id', bayIds, bind));
  if (locationIds) conditions.push(oneOf('location_id', locationIds, bind));
  if (userAlias !== undefined) conditions.push(`user_alias = ${bind(userAlias)}`);
  if (time) conditions.push(...timeConditions(time, begin, bind));
  if (upcoming?.todayOnly) conditions.push(startsToday(criteria, bind));
  if (isActive === undefined || begin === criteria.now) return conditions;
  const now = bindInstant(criteria.now, bind);
  if (isActive === true) conditions.push(`end_date > ${now}`);
  if (isActive === true && bayIds) conditions.push(`${bookedRange} && tstzrange(${now}, null)`);
  if (isActive === false) conditions.push(`end_date <= ${now}`);
  return conditions;
}

function timeConditions({ kind, start, end }: TimeFilter, begin: Date | undefined, bind: Bind): string[] {
  const to = end ? bindInstant(end, bind) : 'null';
  // What ends within the interval starts within it: both ends bound the walk through the index.
  if (kind === 'within')
    return [`start_date >= ${bindInstant(start, bind)} and start_date <= ${to} and end_date <= ${to}`];
  // Whatever starts before the end of an interval without a beginning overlaps it.
  if (!start) return [`start_date < ${to}`];
  if (begin) {
    // Of an interval that is an instant, what is going on then is all.
    if (!end) return [];
    return [start.getTime() === end.getTime() ? `start_date <= ${to}` : `start_date < ${to}`];
  }
  const from = bindInstant(start, bind);
  // An instant would be an empty range, which overlaps nothing.
  const instantSafe = end ? `, case when ${from} = ${to} then '[]' else '[)' end` : '';
  return [`${bookedRange} && tstzrange(${from}, ${to}${instantSafe})`];
}
