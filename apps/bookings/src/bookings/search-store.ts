// How are bookings found? One statement for the page and, where the page does not tell it, one for the total. Time conditions use the
// very expression of the exclusion constraint, so that its index answers them. Reads only.
import { offsetOf, type PageRequest } from '@bay-booking/common/page';
import { type Database, query } from '@bay-booking/service/database';
import { wireTypes } from './row-times.ts';
import type { BookingFilter, TimeFilter } from './search.ts';
import { bookedRange } from './statements.ts';

export interface Criteria extends BookingFilter {
  /** Never empty. */
  readonly facilities: readonly string[];
  readonly now: Date;
  /** In progress or still to come; `untilMidnightIn`: of the current day in that time zone. */
  readonly upcoming?: { readonly untilMidnightIn?: string | undefined } | undefined;
}

/** Times are as on the wire. */
export interface ListedBooking {
  readonly id: string;
  readonly external_booking_id: string | null;
  readonly correlation_id: string | null;
  readonly bay_id: string;
  readonly user_alias: string;
  readonly start_date: string;
  readonly end_date: string;
  readonly created_at: string;
  readonly last_updated_at: string;
}

export interface Found {
  readonly bookings: readonly ListedBooking[];
  readonly total: number;
}

const listedColumns =
  'id, external_booking_id, correlation_id, bay_id, user_alias, start_date, end_date, created_at, last_updated_at';

export interface SearchStatements {
  readonly firstPage: string;
  /** Walks past the rows before it in the index alone, as far as the filter's columns are there. */
  readonly laterPage: string;
  readonly count: string;
  readonly bindings: readonly unknown[];
}

interface Part {
  readonly where: readonly string[];
  /** No more rows than there are bays, so that they need no order to be bounded. */
  readonly few: boolean;
}

export type SearchStore = ReturnType<typeof createSearchStore>;

export function createSearchStore(db: Database) {
  return {
    search: async (criteria: Criteria, request: PageRequest): Promise<Found> => {
      const { firstPage, laterPage, count, bindings } = searchStatements(criteria);
      const offset = offsetOf(request);
      const page = offset === 0 ? firstPage : laterPage;
      const bookings = await query<ListedBooking>(db, page, [...bindings, request.pageSize, offset], wireTypes);
      // A page that is neither full nor past the end tells the total.
      if (bookings.length < request.pageSize && (bookings.length > 0 || offset === 0)) {
        return { bookings, total: offset + bookings.length };
      }
      const [counted] = await query<{ total: number }>(db, count, bindings);
      return { bookings, total: counted?.total ?? 0 };
    },
  };
}

/** The texts are few, since arrays are one parameter each: every one of them is prepared once per connection. */
export function searchStatements(criteria: Criteria): SearchStatements {
  const bindings: unknown[] = [];
  const bind = (value: unknown): string => `$${bindings.push(value)}`;
  const ofFacilities = oneOf('facility_id', criteria.facilities, bind);
  const begin = beginOf(criteria);
  const conditions = conditionsOf(criteria, begin !== undefined, bind);
  const parts = begin ? partsFrom(begin, criteria.isActive, bind) : [{ where: [], few: false }];
  const [limit, offset] = [`$${bindings.length + 1}::bigint`, `$${bindings.length + 2}::bigint`];
  const inOrder = 'order by start_date, id limit';
  const rowsOf = (columns: string, facility: string, part: Part, end: string): string =>
    `select ${columns} from booking where ${[facility, ...conditions, ...part.where].join(' and ')}${end}`;
  // Each part gives its first rows in the order of an index, so that no more than a page and what lies before it is sorted.
  const firstOf = (columns: string, facility: string): string =>
    parts
      .map((part) => rowsOf(columns, facility, part, part.few ? '' : ` ${inOrder} ${limit} + ${offset}`))
      .map((rows) => `(${rows})`)
      .join('\nunion all ');
  const pageOf = (columns: string): string => {
    if (criteria.facilities.length > 1 && !isSelective(criteria)) {
      // Of many facilities, each gives its first rows: hundreds of times cheaper than sorting them all.
      return `select of_facility.* from facility cross join lateral (
${firstOf(columns, 'facility_id = facility.id')}
) of_facility where facility.id = any($1) order by of_facility.start_date, of_facility.id limit ${limit} offset ${offset}`;
    }
    const [part, ...more] = parts;
    if (part && more.length === 0) return rowsOf(columns, ofFacilities, part, ` ${inOrder} ${limit} offset ${offset}`);
    return `select * from (${firstOf(columns, ofFacilities)}) first ${inOrder} ${limit} offset ${offset}`;
  };
  const found = parts.map((part) => rowsOf('', ofFacilities, part, '')).join(' union all ');
  const count = `select count(*)::int as total from (${found}) found`;
  return {
    firstPage: pageOf(listedColumns),
    laterPage: fetched(pageOf('facility_id, id, start_date')),
    count,
    bindings,
  };
}

function fetched(keys: string): string {
  return `select ${listedColumns.replace(/\w+/g, 'booking.$&')} from (${keys}) page
join booking on booking.facility_id = page.facility_id and booking.id = page.id order by booking.start_date, booking.id`;
}

function isSelective({ ids, externalBookingIds, correlationIds, bayIds, userAlias }: Criteria): boolean {
  return [ids, externalBookingIds, correlationIds, bayIds, userAlias].some((filter) => filter !== undefined);
}

function conditionsOf(criteria: Criteria, parted: boolean, bind: (value: unknown) => string): string[] {
  const { ids, externalBookingIds, correlationIds, bayIds, locationIds, userAlias, isActive, time, upcoming } =
    criteria;
  const conditions: string[] = [];
  if (ids) conditions.push(`id = any(${bind(ids)}::uuid[])`);
  if (externalBookingIds) conditions.push(`external_booking_id = any(${bind(externalBookingIds)})`);
  if (correlationIds) conditions.push(`correlation_id = any(${bind(correlationIds)})`);
  if (bayIds) conditions.push(oneOf('bay_id', bayIds, bind));
  if (locationIds) conditions.push(oneOf('location_id', locationIds, bind));
  if (userAlias !== undefined) conditions.push(`user_alias = ${bind(userAlias)}`);
  const now = bindInstant(criteria.now, bind, (isActive !== undefined && !parted) || upcoming !== undefined);
  if (isActive === true && !parted) conditions.push(`end_date > ${now}`);
  if (isActive === true && bayIds) conditions.push(`${bookedRange} && tstzrange(${now}, null)`);
  if (isActive === false) conditions.push(`end_date <= ${now}`);
  if (time && !(parted && time.start && isActive === undefined)) conditions.push(...timeConditions(time, bind));
  if (upcoming) {
    const zone = upcoming.untilMidnightIn === undefined ? undefined : `${bind(upcoming.untilMidnightIn)}::text`;
    const end = zone
      ? `(date_trunc('day', ${now} at time zone ${zone}) + interval '1 day') at time zone ${zone}`
      : 'null';
    conditions.push(`${bookedRange} && tstzrange(${now}, ${end})`);
  }
  return conditions;
}

/** Where the wanted bookings lie open towards the future: from when on? */
function beginOf(criteria: Criteria): Date | undefined {
  const { time, isActive, upcoming } = criteria;
  if (isSelective(criteria) || upcoming || isActive === false) return undefined;
  if (time?.kind === 'within' || (time?.start && time.end)) return undefined;
  if (isActive) return time?.start ? undefined : criteria.now;
  return time?.start;
}

/**
 * What is going on at the beginning is found in the constraint's index, what starts later is walked to in order: one condition for
 * both would have every row of the future sorted.
 */
function partsFrom(begin: Date, isActive: boolean | undefined, bind: (value: unknown) => string): readonly Part[] {
  const from = bindInstant(begin, bind);
  const goingOn = `${bookedRange} && tstzrange(${from}, ${from}, '[]')`;
  // What is an instant, and now, is over.
  const where = isActive ? [goingOn, `end_date > ${from}`] : [goingOn];
  return [
    { where, few: true },
    { where: [`start_date > ${from}`], few: false },
  ];
}

/** Of one value the index's order is the page's order; of an array the planner must sort. */
function oneOf(column: string, values: readonly string[], bind: (value: unknown) => string): string {
  return values.length === 1 ? `${column} = ${bind(values[0])}::text` : `${column} = any(${bind(values)})`;
}

function timeConditions({ kind, start, end }: TimeFilter, bind: (value: unknown) => string): string[] {
  const from = bindInstant(start, bind);
  const to = bindInstant(end, bind);
  // An instant would be an empty range, which overlaps nothing.
  const instantSafe = start && end ? `, case when ${from} = ${to} then '[]' else '[)' end` : '';
  // Whatever starts before the end of an interval without a beginning overlaps it.
  if (kind === 'overlapping' && !start) return [`start_date < ${to}`];
  if (kind === 'overlapping') return [`${bookedRange} && tstzrange(${from}, ${to}${instantSafe})`];
  // What ends within the interval starts within it: both ends bound the walk through the index.
  return [`start_date >= ${from} and start_date <= ${to} and end_date <= ${to}`];
}

function bindInstant(instant: Date | undefined, bind: (value: unknown) => string, needed = true): string {
  return instant && needed ? `${bind(instant.toISOString())}::timestamptz` : 'null';
}
