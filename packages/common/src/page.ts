// How is a long list cut into pages? The list envelope of the specification and contract section 7: `page` from 1, `pageSize` up to
// 1000, absolute links that keep every filter, `next` and `prev` only where those pages exist.
import { type Link, linkSchema } from './links.ts';

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

export const maxPageSize = 1000;

export function pageCountOf(total: number, pageSize: number): number {
  return Math.ceil(total / pageSize);
}

export function offsetOf({ page, pageSize }: PageRequest): number {
  return (page - 1) * pageSize;
}

/** The total beside a page that shows so many after `offset` others, though it was counted a moment later, when some had come or gone. */
export function reconcileTotal(shown: number, offset: number, counted: number): number {
  return shown > 0 ? Math.max(counted, offset + shown) : Math.min(counted, offset);
}

/** `hrefOf` writes the list's own address with another page; the last page of an empty list is page 1. */
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

export function listEnvelopeSchema<const Item>(item: Item) {
  return {
    type: 'object',
    required: ['items', '_links', 'page', 'pageSize', 'pageCount', 'total'],
    additionalProperties: false,
    properties: {
      items: { type: 'array', items: item },
      _links: {
        type: 'object',
        required: ['self', 'first', 'last'],
        additionalProperties: false,
        properties: { self: linkSchema, first: linkSchema, last: linkSchema, next: linkSchema, prev: linkSchema },
      },
      page: { type: 'integer', minimum: 1, description: 'Current page number, starting at 1.' },
      pageSize: { type: 'integer', minimum: 1, maximum: maxPageSize, description: 'Page size used.' },
      pageCount: { type: 'integer', minimum: 0, description: 'Number of pages; 0 for an empty list.' },
      total: { type: 'integer', minimum: 0, description: 'Total number of matching items.' },
    },
  } as const;
}
