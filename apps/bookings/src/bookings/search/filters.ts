// Defines every filter of GET /api/bookings in one table: its schema, its SQL condition, and whether an index finds the
// few bookings that match. The search, its totals, the OpenAPI document and the types derive from this table.
import { textSchema } from '@bay-booking/common/text';
import type { FromSchema } from 'json-schema-to-ts';
import { oneOf, type Size } from '../../database/sql.ts';
import { defaultPageSizes, listQuerySchema } from '../../http/pagination.ts';
import { dateTimeSchema as dateTime, idsSchema } from '../../http/schemas.ts';
import { metadataSchema } from '../schema.ts';

interface Filter {
  readonly schema: object;
  /** SQL with one placeholder, which stands for one value or for an array. */
  readonly condition: (size: Size) => string;
  /** Whether an index finds the few bookings that match. */
  readonly isSelective: boolean;
}

export const filters = {
  ids: { schema: idsSchema('Booking IDs.'), condition: (size) => `id ${oneOf(size, 'uuid')}`, isSelective: true },
  externalBookingIds: {
    schema: idsSchema('External booking IDs.'),
    condition: (size) => `external_booking_id ${oneOf(size)}`,
    isSelective: true,
  },
  correlationIds: {
    schema: idsSchema('Correlation IDs.'),
    condition: (size) => `correlation_id ${oneOf(size)}`,
    isSelective: true,
  },
  groupIds: {
    schema: idsSchema('Group IDs.'),
    condition: (size) => `group_id ${oneOf(size, 'uuid')}`,
    isSelective: true,
  },
  bayIds: { schema: idsSchema('Bay IDs.'), condition: (size) => `bay_id ${oneOf(size)}`, isSelective: true },
  locationIds: {
    schema: idsSchema('Location IDs. They change the meaning of startDate and endDate.'),
    condition: (size) => `location_id ${oneOf(size)}`,
    isSelective: false,
  },
  userAlias: {
    schema: { ...textSchema, description: 'The whole alias, case-sensitive.' },
    condition: () => 'user_alias = ?::text',
    isSelective: true,
  },
  metadata: {
    schema: {
      ...metadataSchema,
      minProperties: 1,
      description: 'metadata[order]=7 finds bookings with this field. If there are several, all must match.',
    },
    condition: () => 'metadata @> ?::jsonb',
    isSelective: true,
  },
} as const satisfies Record<string, Filter>;

export type FilterName = keyof typeof filters;
export const filterNames = Object.keys(filters) as FilterName[];

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
