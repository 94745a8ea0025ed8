// Reads and follows the change feed. The feed has one entry for each booking, sorted by the booking's latest change.
// Also reads the history, which has one entry for each change.
import { BookingsApiError, type BookingsError } from '../errors.ts';
import type { RequestOf, RequestOptions, Send } from '../operations.ts';
import { isTransient, retryDelay } from '../retry.ts';
import type { BookingChange, History, HistoryQuery } from '../schemas.ts';
import { sleep } from '../timeout.ts';
import { continuedAt, type PagedList, pagedList } from './paged-list.ts';

export interface ReadChangesOptions {
  /** Needed only if the token names several facilities. */
  readonly facilityId?: string;
  /** The `next` of the last page that you have stored. Default: the beginning of the feed. */
  readonly from?: string | undefined;
  /** Default: 500. */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface FollowChangesOptions extends ReadChangesOptions {
  /** Called after each temporary error, before the client waits and tries again. */
  readonly onError?: (error: BookingsError) => void;
}

/** Store the items and `next` in one transaction. Then no change is lost or stored twice. */
export interface ChangePage {
  readonly items: readonly BookingChange[];
  /** Pass it as `from` after a restart. */
  readonly next: string;
  /** If true, delete all stored bookings of the facility, because the feed starts from its beginning. */
  readonly startsOver: boolean;
}

export interface Changes {
  read(options?: ReadChangesOptions): AsyncIterable<ChangePage>;
  /** Also waits for further changes until `options.signal` is aborted. Tries again after temporary errors. */
  follow(options?: FollowChangesOptions): AsyncIterable<ChangePage>;
}

type FeedRequest = RequestOf<'listBookingChanges'>;

const waitSeconds = 25;
const responseSeconds = 15;
const waiting = { headers: { Prefer: `wait=${waitSeconds}` }, timeoutMs: (waitSeconds + responseSeconds) * 1_000 };

export const createChanges = (send: Send): Changes => ({
  async *read({ from, signal, ...query } = {}) {
    const nextPage = createFeed(send, { query, signal }, from);
    for (;;) {
      const page = await nextPage();
      if (page.items.length > 0 || page.startsOver) yield page;
      if (page.items.length === 0) return;
    }
  },

  async *follow({ from, signal, onError, ...query } = {}) {
    const nextPage = createFeed(send, { query, signal, ...waiting }, from);
    let failures = 0;
    while (!signal?.aborted) {
      try {
        const page = await nextPage();
        failures = 0;
        if (page.items.length > 0 || page.startsOver) yield page;
      } catch (error) {
        if (signal?.aborted) return;
        if (!isTransient(error)) throw error;
        onError?.(error);
        failures += 1;
        // If the signal is aborted, the condition of the loop ends the loop.
        await sleep(retryDelay(failures, error), signal).catch(() => {});
      }
    }
  },
});

/** Returns a function that reads the next page. */
function createFeed(send: Send, request: FeedRequest, from: string | undefined): () => Promise<ChangePage> {
  let position = from;

  const read = async (): Promise<ChangePage> => {
    const { data } = await send('listBookingChanges', position === undefined ? request : requestAt(request, position));
    return { items: data.items, next: data.next, startsOver: position === undefined };
  };

  return async () => {
    const page = await read().catch((error) => {
      // ERR00410: the position is too old.
      if (!(error instanceof BookingsApiError && error.has('ERR00410') && position !== undefined)) throw error;
      position = undefined;
      return read();
    });
    position = page.next;
    return page;
  };
}

function requestAt(request: FeedRequest, position: string): FeedRequest {
  const address = new URL(position);
  if (request.query?.limit !== undefined) address.searchParams.set('limit', String(request.query.limit));
  return continuedAt<'listBookingChanges'>(request, address.href);
}

export type BookingsHistory = ReturnType<typeof createHistory>;

export const createHistory = (send: Send) => ({
  /** Lists the changes that match every filter, newest first. */
  list: (query: HistoryQuery = {}, options?: RequestOptions): PagedList<History> =>
    pagedList(send, 'listHistory', { query, ...options }),
});
