// Defines every filter of GET /api/bookings in one table: its schema and its SQL condition. The search, the
// OpenAPI document and the types derive from this table. Translates a search to SQL conditions and says in which order
// PostgreSQL should read the bookings.
import { textSchema } from '@bay-booking/common/text';
import type { FromSchema } from 'json-schema-to-ts';
import { equalsOneOf, hashOfBay, type Size } from '../../database/sql.ts';
import { dateTimeSchema as dateTime, idsSchema } from '../../http/endpoint-parts.ts';
import { defaultPageSizes, listQuerySchema } from '../../http/pagination.ts';
import { metadataSchema } from '../booking.ts';
import { bookedRange } from '../storage/columns.ts';

interface Filter {
  readonly schema: object;
  /** SQL with placeholders for the value, or for an array of values. */
  readonly condition: (size: Size) => string;
  /** The members of the criteria whose values the placeholders stand for; they repeat. Default: the filter itself. */
  readonly parameters?: readonly string[];
}

export const maxDaysOfText = 400;

/** A text of ASCII is compared without a regular expression, in a third of the time. `C` exists on every server. */
const contains = (column: string): string =>
  `case when octet_length(${column}) = length(${column}) then strpos(lower(${column} collate "C"), ?::text) > 0 ` +
  `else ${column} ~ ?::text end`;

const filters = {
  ids: { schema: idsSchema('Booking IDs.'), condition: (size) => `id ${equalsOneOf(size, 'uuid')}` },
  externalBookingIds: {
    schema: idsSchema('External booking IDs.'),
    condition: (size) => `external_booking_id ${equalsOneOf(size)}`,
  },
  correlationIds: {
    schema: idsSchema('Correlation IDs.'),
    condition: (size) => `correlation_id ${equalsOneOf(size)}`,
  },
  groupIds: {
    schema: idsSchema('Group IDs.'),
    condition: (size) => `group_id ${equalsOneOf(size, 'uuid')}`,
  },
  bayIds: { schema: idsSchema('Bay IDs.'), condition: (size) => `bay_id ${equalsOneOf(size)}` },
  locationIds: {
    schema: idsSchema('Location IDs. They change the meaning of startDate and endDate.'),
    condition: (size) => `location_id ${equalsOneOf(size)}`,
  },
  userAlias: {
    schema: { ...textSchema, description: 'The whole alias, case-sensitive.' },
    condition: () => 'user_alias = ?::text',
  },
  metadata: {
    schema: {
      ...metadataSchema,
      minProperties: 1,
      description: 'metadata[order]=7 finds bookings with this field. If there are several, all must match.',
    },
    condition: () => 'metadata @> ?::jsonb',
  },
  text: {
    schema: {
      ...textSchema,
      description:
        'Finds bookings whose userAlias, externalBookingId or a value of metadata contains it, in upper or lower ' +
        `case. Needs startDate and endDate, at most ${maxDaysOfText} days apart.`,
    },
    // No index finds parts of texts, but the interval limits the rows. One pattern for all metadata of a booking takes
    // less than half of the time, but it also finds names and escape sequences. If metadata is null, `is not null` is
    // false, so PostgreSQL does not run the subquery. That saves a third of the time.
    condition: () =>
      `(${contains('user_alias')} or ${contains('external_booking_id')} or (metadata is not null and ` +
      `metadata::text ~ ?::text and exists (select from jsonb_each_text(metadata) where ${contains('value')})))`,
    parameters: ['text', 'textPattern', 'text', 'textPattern', 'jsonPattern', 'text', 'textPattern'],
  },
} as const satisfies Record<string, Filter>;

type FilterName = keyof typeof filters;
const filterNames = Object.keys(filters) as FilterName[];

function filterCondition(name: FilterName, size: Size): readonly [sql: string, parameters: readonly string[]] {
  const { condition, parameters = [name] }: Filter = filters[name];
  const sql = condition(size);
  return [sql, Array.from(sql.matchAll(/\?/g), (_, index) => parameters[index % parameters.length] as string)];
}

type FilterSchemas = { readonly [Name in FilterName]: (typeof filters)[Name]['schema'] };
export type FilterValues = { readonly [Name in FilterName]?: FromSchema<FilterSchemas[Name]> | undefined };

const filterSchemas = Object.fromEntries(filterNames.map((name) => [name, filters[name].schema])) as FilterSchemas;

export const searchQuerySchema = listQuerySchema(
  {
    ...filterSchemas,
    isActive: { type: 'boolean', description: 'true: endDate is after now; false: it is not.' },
    startDate: {
      ...dateTime,
      description:
        'With locationIds: selects bookings that start and end within startDate and endDate, and both are required. ' +
        'Without: selects bookings that overlap the interval; one date alone leaves it open at the other end. ' +
        'Can be sent in the body instead.',
    },
    endDate: { ...dateTime, description: 'See startDate.' },
  },
  defaultPageSizes.bookings,
  // Continues the description of the default page size.
  `, ${defaultPageSizes.bookingsOfLocations} with locationIds`,
);

/** For `overlapping`, either `start` or `end` can be undefined. */
export type TimeFilter =
  | { readonly kind: 'within'; readonly start: Date; readonly end: Date }
  | { readonly kind: 'overlapping'; readonly start: Date | undefined; readonly end: Date | undefined };

export interface BookingFilter extends FilterValues {
  readonly isActive?: boolean | undefined;
  readonly time?: TimeFilter | undefined;
  /** Finds `text` in stored texts that are not ASCII. */
  readonly textPattern?: string | undefined;
  /** Finds `text` in the JSON of texts. */
  readonly jsonPattern?: string | undefined;
}

export interface Criteria extends BookingFilter {
  /** The facilities to search. Never empty. */
  readonly facilities: readonly string[];
  readonly now: Date;
  /** Selects bookings that are in progress, or in the future and start before an instant. */
  readonly upcoming?: { readonly before: Date | undefined } | undefined;
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
  if (upcoming?.before) conditions.push(condition('start_date < ?::timestamptz', instantText(upcoming.before)));
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

/**
 * Returns an instant as a parameter. Bookings have dates in the years 1 to 9999 (date-times.ts). PostgreSQL does not
 * read other years as ISO 8601 defines them.
 */
export function instantText(instant: Date): string {
  const year = instant.getUTCFullYear();
  if (year < 1) return '-infinity';
  return year > 9999 ? 'infinity' : instant.toISOString();
}
