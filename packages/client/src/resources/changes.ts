// Reads and follows the change feed: every booking at its latest change, in order.
import { BookingsApiError, type BookingsError } from '../errors.ts';
import type { RequestOf, Send } from '../operations.ts';
import { continuedAt } from '../paged-list.ts';
import { delayBefore, isTransient } from '../retry.ts';
import type { BookingChange } from '../schemas.ts';
import { sleep } from '../timeout.ts';

export interface ReadChangesOptions {
  /** Needed when the token names several facilities. */
  readonly facilityId?: string;
  /** The `next` of the last page that you have stored. Without it, the feed starts from the beginning. */
  readonly from?: string | undefined;
  /** How many changes a page may have, 500 by default. */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface FollowChangesOptions extends ReadChangesOptions {
  /** Is called when the service cannot be reached. The feed then tries again after a few seconds. */
  readonly onError?: (error: BookingsError) => void;
}

/** Store the items and `next` together, in one transaction. Then no change is lost, and none is stored twice. */
export interface ChangePage {
  readonly items: readonly BookingChange[];
  /** The position after this page: pass it as `from` after a restart. */
  readonly next: string;
  /**
   * Whether this page is the beginning of the feed: delete all bookings of the facility that you have stored before.
   * This happens at the first start, and when `from` is so old that the service no longer has every change after it.
   */
  readonly startsOver: boolean;
}

export interface Changes {
  /** Ends when all changes have been read. */
  read(options?: ReadChangesOptions): AsyncIterable<ChangePage>;
  /**
   * Waits for further changes until `signal` is aborted or the loop is left. Continues when the service was not
   * available. Throws only errors that another attempt cannot correct, for example a missing right.
   */
  follow(options?: FollowChangesOptions): AsyncIterable<ChangePage>;
}

type FeedRequest = RequestOf<'listBookingChanges'>;

/** The longest time that the service waits for a change. */
const waitSeconds = 25;
const waiting = { headers: { Prefer: `wait=${waitSeconds}` }, timeoutMs: (waitSeconds + 15) * 1_000 };
/** Makes the delays between attempts grow to 8 s, as those within one request do. */
const maxFailures = 8;

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
        failures = Math.min(failures + 1, maxFailures);
        await sleep(delayBefore(failures, error), signal).catch(() => {});
      }
    }
  },
});

/** Reads page after page. The position moves only when a page has arrived. */
function createFeed(send: Send, request: FeedRequest, from: string | undefined) {
  let position = from;
  return {
    async nextPage(): Promise<ChangePage> {
      const page = await read(position).catch((error) => {
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

  /** The position has the page size of an earlier request. */
  function requestAt(at: string): FeedRequest {
    const address = new URL(at);
    if (request.query?.limit !== undefined) address.searchParams.set('limit', String(request.query.limit));
    return continuedAt<'listBookingChanges'>(request, address.href);
  }
}
