// Which bookings are asked for? The specification's two parameter sets of GET /api/bookings, merged into one filter (contract
// section 7): with locationIds the dates select bookings within the interval, without they select those that overlap it. Pure.
import type { PageRequest } from '@bay-booking/common/page';
import type { ValidationError } from '@bay-booking/common/validation';
import type { FromSchema } from 'json-schema-to-ts';
import { defaultPageSizes, pageRequest } from '../../http/pagination.ts';
import { isBookingId } from '../booking-id.ts';
import { parseDateTime } from '../date-times.ts';
import type { searchQuerySchema } from '../schema.ts';

export type SearchQuery = Partial<FromSchema<typeof searchQuerySchema>>;

export type TimeFilter =
  | { readonly kind: 'within'; readonly start: Date; readonly end: Date }
  | { readonly kind: 'overlapping'; readonly start: Date | undefined; readonly end: Date | undefined };

export interface BookingFilter {
  readonly ids?: readonly string[] | undefined;
  readonly externalBookingIds?: readonly string[] | undefined;
  readonly correlationIds?: readonly string[] | undefined;
  readonly bayIds?: readonly string[] | undefined;
  readonly locationIds?: readonly string[] | undefined;
  readonly userAlias?: string | undefined;
  readonly isActive?: boolean | undefined;
  readonly time?: TimeFilter | undefined;
}

export interface Search {
  readonly filter: BookingFilter;
  readonly page: PageRequest;
  /** The filters as they came, for the links of the page. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly validationErrors: readonly ValidationError[];
}

export function mergeSearch(
  query: SearchQuery,
  body: { readonly endDate?: string },
  found: readonly ValidationError[] = [],
): Search {
  const listing = query.locationIds !== undefined;
  const { startDate, endDate: endDateInQuery, ...filters } = query;
  const endDate = endDateInQuery ?? body.endDate;
  const { ids, externalBookingIds, correlationIds, bayIds, locationIds, userAlias, isActive } = filters;
  const [start, end] = [parsed(startDate), parsed(endDate)];
  const validationErrors = [...found];
  const isInvalid = (name: string): boolean => found.some(({ field }) => field === name);
  if (listing && start && !end && !isInvalid('endDate'))
    validationErrors.push({ field: 'endDate', kind: 'missing', hint: '' });
  if (listing && end && !start && !isInvalid('startDate'))
    validationErrors.push({ field: 'startDate', kind: 'missing', hint: '' });
  if (start && end && end < start)
    validationErrors.push({ field: 'endDate', kind: 'invalid', hint: 'must not be before startDate' });

  let time: TimeFilter | undefined;
  if (listing && start && end) time = { kind: 'within', start, end };
  else if (start || end) time = { kind: 'overlapping', start, end };

  return {
    // An id that is no UUID is nobody's.
    filter: {
      ids: ids?.filter(isBookingId),
      externalBookingIds,
      correlationIds,
      bayIds,
      locationIds,
      userAlias,
      isActive,
      time,
    },
    page: pageRequest(query, defaultPageSizes[listing ? 'bookingsOfLocations' : 'bookings']),
    given: { ...filters, startDate, endDate },
    validationErrors,
  };
}

function parsed(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : parseDateTime(text);
}
