// Calculates the pages of a list, and creates the list envelope with its links. Also defines the JSON Schema of the
// list envelope (specification, "List envelope").
import { type Link, linksSchema } from './links.ts';

/** Pages are numbered from 1. */
export interface PageRequest {
  readonly page: number;
  readonly pageSize: number;
}

export interface ListEnvelope<Item> {
  readonly items: readonly Item[];
  readonly _links: Readonly<Record<string, Link>>;
  readonly page: number;
  readonly pageSize: number;
  readonly pageCount: number;
  readonly total: number;
}

export function pageCountOf(total: number, pageSize: number): number {
  return Math.ceil(total / pageSize);
}

export function offsetOf({ page, pageSize }: PageRequest): number {
  return (page - 1) * pageSize;
}

/**
 * Returns a total that is consistent with the page in the same response. The page and the total are read by two
 * statements, and items can be created or deleted between these statements. `shown` is the number of items on the page.
 * `offset` is the number of items before the page. `counted` is the total that was read. A page with items proves that
 * the list has at least `offset + shown` items. An empty page proves that it has at most `offset` items.
 */
export function reconcileTotal(shown: number, offset: number, counted: number): number {
  return shown > 0 ? Math.max(counted, offset + shown) : Math.min(counted, offset);
}

/**
 * Reads one page of a list and the total of the list. `count` is called only if the page does not show the total. Items
 * can be created or deleted between the two reads, so the total is made consistent with the page.
 */
export async function readPage<Row>(
  request: PageRequest,
  readRows: (limit: number, offset: number) => Promise<readonly Row[]>,
  count: () => Promise<number>,
): Promise<{ readonly rows: readonly Row[]; readonly total: number }> {
  const offset = offsetOf(request);
  const rows = await readRows(request.pageSize, offset);
  // A page that is not full is the last page, unless it is an empty page after the end of the list.
  const isLastPage = rows.length < request.pageSize && (rows.length > 0 || offset === 0);
  if (isLastPage) return { rows, total: offset + rows.length };
  return { rows, total: reconcileTotal(rows.length, offset, await count()) };
}

/**
 * Returns the envelope with the items of one page. `hrefOf` returns the URL of a page of the list. The links `next` and
 * `prev` are present only if these pages exist. If the requested page is after the last page, `prev` leads to the last
 * page. An empty list has `pageCount` 0, and its link `last` leads to page 1.
 */
export function listEnvelope<Item>(
  items: readonly Item[],
  total: number,
  { page, pageSize }: PageRequest,
  hrefOf: (page: number) => string,
): ListEnvelope<Item> {
  const pageCount = pageCountOf(total, pageSize);
  const linkTo = (target: number): Link => ({ method: 'GET', href: hrefOf(target) });
  const last = Math.max(pageCount, 1);
  return {
    items,
    _links: {
      self: linkTo(page),
      first: linkTo(1),
      last: linkTo(last),
      ...(page < pageCount && { next: linkTo(page + 1) }),
      ...(page > 1 && pageCount > 0 && { prev: linkTo(Math.min(page - 1, last)) }),
    },
    page,
    pageSize,
    pageCount,
    total,
  };
}

/** The links `next` and `prev` are optional: the last page has no link `next`, and the first page no link `prev`. */
export const pageLinksSchema = {
  ...linksSchema('self', 'first', 'last'),
  properties: linksSchema('self', 'first', 'last', 'next', 'prev').properties,
} as const;

export function listEnvelopeSchema<const Item>(item: Item, maxPageSize: number) {
  return {
    type: 'object',
    required: ['items', '_links', 'page', 'pageSize', 'pageCount', 'total'],
    additionalProperties: false,
    properties: {
      items: { type: 'array', items: item },
      _links: pageLinksSchema,
      page: { type: 'integer', minimum: 1, description: 'Current page number, starting at 1.' },
      pageSize: { type: 'integer', minimum: 1, maximum: maxPageSize, description: 'Page size used.' },
      pageCount: { type: 'integer', minimum: 0, description: 'Number of pages; 0 for an empty list.' },
      total: { type: 'integer', minimum: 0, description: 'Total number of matching items.' },
    },
  } as const;
}
