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

/** Returns the number of items on all earlier pages. */
export function offsetOf({ page, pageSize }: PageRequest): number {
  return (page - 1) * pageSize;
}

/**
 * Makes the total of a list consistent with the page in the same response. The page and the total are read by two
 * statements, and items can be created or deleted in between. `shown` is the number of items on the page, `offset` the
 * number of items before the page, and `counted` the total that was read.
 */
export function reconcileTotal(shown: number, offset: number, counted: number): number {
  return shown > 0 ? Math.max(counted, offset + shown) : Math.min(counted, offset);
}

/**
 * Wraps the items of one page. `hrefOf` returns the URL of another page of the same list. `next` and `prev` are present
 * only if those pages exist. An empty list has `pageCount` 0, and `last` is page 1.
 */
export function listEnvelope<Item>(
  items: readonly Item[],
  total: number,
  { page, pageSize }: PageRequest,
  hrefOf: (page: number) => string,
): ListEnvelope<Item> {
  const pageCount = pageCountOf(total, pageSize);
  const to = (target: number): Link => ({ method: 'GET', href: hrefOf(target) });
  const last = Math.max(pageCount, 1);
  return {
    items,
    _links: {
      self: to(page),
      first: to(1),
      last: to(last),
      ...(page < pageCount && { next: to(page + 1) }),
      ...(page > 1 && pageCount > 0 && { prev: to(Math.min(page - 1, last)) }),
    },
    page,
    pageSize,
    pageCount,
    total,
  };
}

/** The last page has no link `next`, and the first page has no link `prev`. */
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
