// Defines every filter of GET /api/bookings in one table: its schema and its SQL condition. The search, the
// OpenAPI document and the types derive from this table.
import { textSchema } from '@bay-booking/common/text';
import type { FromSchema } from 'json-schema-to-ts';
import { equalsOneOf, type Size } from '../../database/sql.ts';
import { defaultPageSizes, listQuerySchema } from '../../http/pagination.ts';
import { dateTimeSchema as dateTime, idsSchema } from '../../http/schemas.ts';
import { metadataSchema } from '../booking.ts';

interface Filter {
  readonly schema: object;
  /** SQL in which placeholders stand for the value, or for an array of values. */
  readonly condition: (size: Size) => string;
  /** The members of the criteria whose values the placeholders stand for; they repeat. Default: the filter itself. */
  readonly parameters?: readonly string[];
}

export const maxDaysOfText = 400;

/** A text of ASCII is compared without a regular expression, in a third of the time. `C` exists on every server. */
const contains = (column: string): string =>
  `case when octet_length(${column}) = length(${column}) then strpos(lower(${column} collate "C"), ?::text) > 0 ` +
  `else ${column} ~ ?::text end`;

export const filters = {
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

export type FilterName = keyof typeof filters;
export const filterNames = Object.keys(filters) as FilterName[];

export function filterCondition(name: FilterName, size: Size): readonly [sql: string, parameters: readonly string[]] {
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
