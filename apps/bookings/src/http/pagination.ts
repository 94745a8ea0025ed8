// Defines the page sizes and the query parameters of lists and creates list responses.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { listEnvelope, type PageRequest, pageQuery, pathOfPage } from '@bay-booking/common/page';

export { listSchema } from '@bay-booking/common/page';

export const defaultPageSizes = {
  bookings: 200,
  /** `GET /api/bookings` with `locationIds`. */
  bookingsOfLocations: 50,
  upcomingBookings: 10,
  locations: 500,
  bays: 1000,
  availability: 200,
  /** A list without an entry in this table. */
  others: 50,
} as const;

export function listQuerySchema<const Filters extends object>(
  filters: Filters,
  defaultPageSize: number = defaultPageSizes.others,
  note = '',
) {
  return {
    type: 'object',
    properties: {
      ...filters,
      ...pageQuery(defaultPageSize, note),
    },
  } as const;
}

export function pageRequest(query: Partial<PageRequest>, defaultPageSize: number = defaultPageSizes.others) {
  return { page: query.page ?? 1, pageSize: query.pageSize ?? defaultPageSize };
}

/** Many clients limit the size of a header. A longer header is left out: the links are also in the body. */
const maxLinkHeaderBytes = 4_096;

export interface ListRequest {
  readonly path: string;
  /** The links to other pages repeat its filters as they were sent. */
  readonly sentQuery: Readonly<Record<string, unknown>>;
  readonly page: PageRequest;
}

export function listResponse<Item>(
  { path, sentQuery, page }: ListRequest,
  items: readonly Item[],
  total: number,
  link: MakeLink,
): EndpointResponse {
  const hrefOf = (target: number): string => link('GET', pathOfPage(path, sentQuery, { ...page, page: target })).href;
  const envelope = listEnvelope(items, total, page, hrefOf);
  const linkHeader = Object.entries(envelope._links)
    .map(([relation, { href }]) => `<${href}>; rel="${relation}"`)
    .join(', ');
  const headers: Record<string, string> = linkHeader.length <= maxLinkHeaderBytes ? { Link: linkHeader } : {};
  return { status: 200, body: envelope, headers };
}

/** The example of a list, for the OpenAPI document. */
export function listExample(
  path: string,
  sentQuery: ListRequest['sentQuery'],
  item: object,
  link: MakeLink,
  pageSize: number = defaultPageSizes.others,
) {
  return listResponse({ path, sentQuery, page: { page: 1, pageSize } }, [item], 1, link).body;
}
