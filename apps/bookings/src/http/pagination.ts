// Defines the page sizes and the query parameters of lists, and creates list responses. The links to other pages are in
// the list envelope and in the Link header (RFC 8288).
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { listEnvelope, listEnvelopeSchema, type PageRequest } from '@bay-booking/common/page';
import { writeQueryString } from '@bay-booking/common/query-string';

const maxPageSize = 1000;

/** The number of items on a page of each list, if the request has no `pageSize`. */
export const defaultPageSizes = {
  bookings: 200,
  /** `GET /api/bookings` with `locationIds`. */
  bookingsOfLocations: 50,
  upcomingBookings: 10,
  locations: 500,
  bays: 1000,
  availability: 200,
  closures: 50,
  webhooks: 50,
  deliveries: 50,
  /** A list without an entry in this table. */
  others: 50,
} as const;

/**
 * Returns the schema of the query of a list: the filters of the list, `page` and `pageSize`. `note` explains a default
 * page size that depends on the filters.
 */
export function listQuerySchema<const Filters extends object>(
  filters: Filters,
  defaultPageSize: number = defaultPageSizes.others,
  note = '',
) {
  return {
    type: 'object',
    properties: {
      ...filters,
      page: { type: 'integer', minimum: 1, description: 'Page to return, from 1; 1 if left out.' },
      pageSize: {
        type: 'integer',
        minimum: 1,
        maximum: maxPageSize,
        description: `Size of each page; ${defaultPageSize} if left out${note}.`,
      },
    },
  } as const;
}

export function listSchema<const Item>(item: Item) {
  return listEnvelopeSchema(item, maxPageSize);
}

export function pageRequest(
  query: Partial<PageRequest>,
  defaultPageSize: number = defaultPageSizes.others,
): PageRequest {
  return { page: query.page ?? 1, pageSize: query.pageSize ?? defaultPageSize };
}

/**
 * The maximum length of the header `Link`, because many clients limit the size of a header. If the header would be
 * longer, for example because the query has hundreds of ids, the links are only in the body.
 */
const maxLinkHeaderBytes = 4_096;

export interface ListRequest {
  readonly path: string;
  /** The query of the request. The links to other pages of the list repeat its filters. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly page: PageRequest;
}

export function listResponse<Item>(
  { path, query, page }: ListRequest,
  items: readonly Item[],
  total: number,
  link: MakeLink,
): EndpointResponse {
  // Each link sets `page` and `pageSize` itself.
  const { page: _page, pageSize: _pageSize, ...filters } = query;
  const hrefOf = (target: number): string =>
    link('GET', `${path}${writeQueryString({ ...filters, page: target, pageSize: page.pageSize })}`).href;
  const envelope = listEnvelope(items, total, page, hrefOf);
  const linkHeader = Object.entries(envelope._links)
    .map(([relation, { href }]) => `<${href}>; rel="${relation}"`)
    .join(', ');
  const headers: Record<string, string> = linkHeader.length <= maxLinkHeaderBytes ? { Link: linkHeader } : {};
  return { status: 200, body: envelope, headers };
}
