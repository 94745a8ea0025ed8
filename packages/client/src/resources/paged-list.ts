// Iterates over the items or the pages of a list.
import type { OperationId, RequestOf, ResultOf, Send } from '../operations.ts';

interface Page {
  readonly items: readonly unknown[];
  readonly _links: { readonly next?: { readonly href: string } };
}

export type ListOperation = {
  [Id in OperationId]: ResultOf<Id> extends Page & { readonly total: number } ? Id : never;
}[OperationId];

type PageOf<Id extends ListOperation> = Extract<ResultOf<Id>, Page>;

/** A `for await` loop over the list requests one page after the other. */
export interface PagedList<List extends Page> extends AsyncIterable<List['items'][number]> {
  pages(): AsyncIterable<List>;
  /** Reads all pages. Use it only for lists that you know to be short. */
  toArray(): Promise<List['items'][number][]>;
}

export function pagedList<Id extends ListOperation>(
  send: Send,
  operation: Id,
  request: RequestOf<Id>,
): PagedList<PageOf<Id>> {
  async function* pages(): AsyncGenerator<PageOf<Id>> {
    let nextRequest = request;
    for (;;) {
      const { data } = await send(operation, nextRequest);
      const page = data as PageOf<Id>;
      yield page;
      const { next } = page._links;
      if (!next) return;
      nextRequest = continuedAt(request, next.href);
    }
  }
  async function* items(): AsyncGenerator<PageOf<Id>['items'][number]> {
    for await (const page of pages()) yield* page.items as PageOf<Id>['items'][number][];
  }
  return {
    [Symbol.asyncIterator]: items,
    pages,
    toArray: async () => {
      const all: PageOf<Id>['items'][number][] = [];
      for await (const item of items()) all.push(item);
      return all;
    },
  };
}

/** Uses only the query of the link, so a link to another host cannot get the token. */
export const continuedAt = <Id extends OperationId>(request: RequestOf<Id>, address: string): RequestOf<Id> =>
  ({ ...request, search: new URL(address).search }) as RequestOf<Id>;
