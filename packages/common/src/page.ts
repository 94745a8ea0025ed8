// Calculates the pages of a list and creates the list envelope (specification, "List envelope").
import { responseSchema } from './endpoint.ts';
import { type Link, linksSchema } from './links.ts';
import { writeQueryString } from './query-string.ts';

export interface PageRequest {
  readonly page: number;
  readonly pageSize: number;
}

/**
 * Corrects a total that contradicts the page: items can be created or deleted between the two statements. A page with
 * items proves that at least `offset + shown` items exist, an empty page that at most `offset` exist.
 */
export function reconcileTotal(shown: number, offset: number, counted: number): number {
  return shown > 0 ? Math.max(counted, offset + shown) : Math.min(counted, offset);
}

/** Reads one page and the total. Calls `count` only if the page does not show the total. */
export async function readPage<Row>(
  { page, pageSize }: PageRequest,
  readRows: (limit: number, offset: number) => Promise<readonly Row[]>,
  count: () => Promise<number>,
): Promise<{ readonly rows: readonly Row[]; readonly total: number }> {
  const offset = (page - 1) * pageSize;
  const rows = await readRows(pageSize, offset);
  // A page that is not full is the last page, except an empty page after the end of the list.
  const isLastPage = rows.length < pageSize && (rows.length > 0 || offset === 0);
  if (isLastPage) return { rows, total: offset + rows.length };
  return { rows, total: reconcileTotal(rows.length, offset, await count()) };
}

/** Returns the path of a page, with the filters as they were sent. */
export function pathOfPage(path: string, sentQuery: Readonly<Record<string, unknown>>, page: PageRequest): string {
  const { page: _page, pageSize: _pageSize, ...filters } = sentQuery;
  return `${path}${writeQueryString({ ...filters, ...page })}`;
}

/** If the requested page is after the last page, `prev` links to the last page. */
export function listEnvelope<Item>(
  items: readonly Item[],
  total: number,
  { page, pageSize }: PageRequest,
  hrefOf: (page: number) => string,
) {
  const pageCount = Math.ceil(total / pageSize);
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

const maxPageSize = 1_000;

/** The query parameters of a list. `note` explains a default page size that depends on the filters. */
export const pageQuery = (defaultPageSize: number, note = '') =>
  ({
    page: { type: 'integer', minimum: 1, description: 'Page to return, from 1; 1 if left out.' },
    pageSize: {
      type: 'integer',
      minimum: 1,
      maximum: maxPageSize,
      description: `Size of each page; ${defaultPageSize} if left out${note}.`,
    },
  }) as const;

export const pageLinksSchema = {
  ...linksSchema('self', 'first', 'last'),
  properties: linksSchema('self', 'first', 'last', 'next', 'prev').properties,
} as const;

export const listSchema = <const Item>(item: Item) =>
  responseSchema({
    items: { type: 'array', items: item },
    _links: pageLinksSchema,
    page: { type: 'integer', minimum: 1, description: 'Current page number, starting at 1.' },
    pageSize: { type: 'integer', minimum: 1, maximum: maxPageSize, description: 'Page size used.' },
    pageCount: { type: 'integer', minimum: 0, description: 'Number of pages; 0 for an empty list.' },
    total: { type: 'integer', minimum: 0, description: 'Total number of matching items.' },
  });
