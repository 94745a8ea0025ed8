// Reads and follows the change feed. The feed has one entry for each booking, in the order of their latest changes.
import { BookingsApiError, type BookingsError } from '../errors.ts';
import type { RequestOf, Send } from '../operations.ts';
import { continuedAt } from '../paged-list.ts';
import { isTransient, retryDelay } from '../retry.ts';
import type { BookingChange } from '../schemas.ts';
import { sleep } from '../timeout.ts';

export interface ReadChangesOptions {
  /** The facility of the feed. Needed only if the token names several facilities. */
  readonly facilityId?: string;
  /** The link `next` of the last page that you have stored. Default: the beginning of the feed. */
  readonly from?: string | undefined;
  /** The maximum number of changes on a page. Default: 500. */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface FollowChangesOptions extends ReadChangesOptions {
  /**
   * Called after each temporary error: the service cannot be reached, or it responds with a status such as 503. The
   * client then tries again after a delay.
   */
  readonly onError?: (error: BookingsError) => void;
}

/**
 * A page of the feed. Store its items and `next` in one transaction. No change is then lost, and no change is stored
 * twice.
 */
export interface ChangePage {
  readonly items: readonly BookingChange[];
  /** The link to the page after this one: pass it as `from` after a restart. */
  readonly next: string;
  /**
   * Whether this page is the beginning of the feed. If it is, delete all bookings of the facility that you have stored
   * before. This happens at the first start, and when `from` is so old that the service no longer has every change
   * after it.
   */
  readonly startsOver: boolean;
}

export interface Changes {
  /** Reads the pages of the feed up to the latest change. */
  read(options?: ReadChangesOptions): AsyncIterable<ChangePage>;
  /**
   * Reads the pages of the feed, and then waits for further changes until `options.signal` is aborted, or the caller
   * leaves its loop. While the service is unavailable, `follow` tries again. `follow` throws only errors that another
   * attempt cannot correct, such as 403.
   */
  follow(options?: FollowChangesOptions): AsyncIterable<ChangePage>;
}

type FeedRequest = RequestOf<'listBookingChanges'>;

/** The maximum time for which a request waits for a change, in seconds. */
const waitSeconds = 25;
/** The time that a response may take after the wait. */
const responseSeconds = 15;
const waiting = { headers: { Prefer: `wait=${waitSeconds}` }, timeoutMs: (waitSeconds + responseSeconds) * 1_000 };

export const createChanges = (send: Send): Changes => ({
  async *read({ from, signal, ...query } = {}) {
    const feed = createFeed(send, { query, signal }, from);
    for (;;) {
      const page = await feed.nextPage();
      if (page.items.length > 0 || page.startsOver) yield page;
      if (page.items.length === 0) return;
    }
  },

  async *follow({ from, signal, onError, ...query } = {}) {
    const feed = createFeed(send, { query, signal, ...waiting }, from);
    let failures = 0;
    while (!signal?.aborted) {
      try {
        const page = await feed.nextPage();
        failures = 0;
        if (page.items.length > 0 || page.startsOver) yield page;
      } catch (error) {
        if (signal?.aborted) return;
        if (!isTransient(error)) throw error;
        onError?.(error);
        failures += 1;
        // If the signal is aborted during the delay, `sleep` rejects. This error is ignored, because the loop then ends
        // at its condition.
        await sleep(retryDelay(failures, error), signal).catch(() => {});
      }
    }
  },
});

/** Reads one page after the other. After an error, the next call of `nextPage` reads the same page again. */
function createFeed(send: Send, request: FeedRequest, from: string | undefined) {
  let position = from;
  return {
    async nextPage(): Promise<ChangePage> {
      const page = await read(position).catch((error) => {
        // ERR00410: the position is too old. The feed is then read from its beginning.
        if (error instanceof BookingsApiError && error.has('ERR00410') && position !== undefined)
          return read(undefined);
        throw error;
      });
      position = page.next;
      return page;
    },
  };

  async function read(at: string | undefined): Promise<ChangePage> {
    const { data } = await send('listBookingChanges', at === undefined ? request : requestAt(at));
    return { items: data.items, next: data.next, startsOver: at === undefined };
  }

  /** Returns the request for the page at the link `at`. The option `limit` replaces the page size in the link. */
  function requestAt(at: string): FeedRequest {
    const address = new URL(at);
    if (request.query?.limit !== undefined) address.searchParams.set('limit', String(request.query.limit));
    return continuedAt<'listBookingChanges'>(request, address.href);
  }
}
