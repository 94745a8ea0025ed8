// How does a list endpoint answer a page? The list envelope, mirrored in the Link header (RFC 8288). Contract section 7.
import type { EndpointResponse } from '@bay-booking/common/endpoint';
import type { MakeLink } from '@bay-booking/common/links';
import { listEnvelope, maxPageSize, type PageRequest } from '@bay-booking/common/page';
import { writeQueryString } from '@bay-booking/common/query-string';

export function pageQuerySchema(pageSize: number) {
  return {
    page: { type: 'integer', minimum: 1, description: 'Page to return, from 1; 1 if left out.' },
    pageSize: {
      type: 'integer',
      minimum: 1,
      maximum: maxPageSize,
      description: `Size of each page; ${pageSize} if left out.`,
    },
  } as const;
}

/** Clients' header limits are low: links that carry hundreds of ids stand in the body alone. */
const linkHeaderAtMost = 4_096;

export interface ListRequest {
  readonly path: string;
  /** Every filter of the request, for the links. */
  readonly filters: Readonly<Record<string, unknown>>;
  readonly page: PageRequest;
}

export function listResponse<Item>(
  request: ListRequest,
  items: readonly Item[],
  total: number,
  link: MakeLink,
): EndpointResponse {
  const { body, headers } = emptyPage(request, total, link);
  return { status: 200, body: { items, ...body }, headers };
}

/** Where an item is written as JSON already: objects of a thousand items would be made only to be written. */
export function listResponseFromJson(
  request: ListRequest,
  items: readonly string[],
  total: number,
  link: MakeLink,
): EndpointResponse {
  const { body, headers } = emptyPage(request, total, link);
  return { status: 200, json: `{"items":[${items.join(',')}],${JSON.stringify(body).slice(1)}`, headers };
}

function emptyPage({ path, filters, page }: ListRequest, total: number, link: MakeLink) {
  const hrefOf = (target: number): string =>
    link('GET', `${path}${writeQueryString({ ...filters, page: target, pageSize: page.pageSize })}`).href;
  const { items: _, ...body } = listEnvelope([], total, page, hrefOf);
  const header = Object.entries(body._links)
    .map(([relation, { href }]) => `<${href}>; rel="${relation}"`)
    .join(', ');
  const headers: Record<string, string> = header.length <= linkHeaderAtMost ? { Link: header } : {};
  return { body, headers };
}
