// Reads the change feed of a facility in a loop, as the system of a partner does, while a test makes a part of the
// system fail.
import { setTimeout as pause } from 'node:timers/promises';
import { callApi } from './api.ts';
import type { LatestEvent } from './webhook-receiver.ts';

interface Item {
  readonly id: string;
  readonly state: 'updated' | 'deleted';
  readonly modified: number;
  readonly data?: Readonly<Record<string, unknown>>;
}

interface Page {
  readonly items: readonly Item[];
  readonly next: string;
}

/** The pause before the next request after a failed request, or at the end of the feed. */
const pauseMs = 50;

export type FeedReader = ReturnType<typeof startFeedReader>;

/**
 * Starts a reader, which sends its requests to the addresses in `bases` in turn. The test may change this array while
 * the reader runs.
 */
export function startFeedReader(bases: readonly string[], token: string, facilityId: string) {
  const latest = new Map<string, LatestEvent>();
  const outOfOrder: string[] = [];
  const unexpectedStatuses: number[] = [];
  let address = `/api/booking-changes?facilityId=${facilityId}&limit=50`;
  let lastNumber = 0;
  let isStopping = false;

  /** Returns the next page, or undefined if the instance or its database is unavailable. */
  async function readPage(base: string): Promise<Page | undefined> {
    const response = await callApi<Page>(base, token, 'GET', address).catch(() => undefined);
    if (response?.status === 200) return response.body;
    if (response && response.status !== 503) unexpectedStatuses.push(response.status);
    await pause(pauseMs);
    return undefined;
  }

  async function follow(): Promise<void> {
    for (let turn = 0; ; turn += 1) {
      // This value is read before the request. An empty page therefore ends the loop only if its request was sent after
      // `stop` was called. The reader has then seen all writes that ended before `stop` was called.
      const wasStopping = isStopping;
      const page = await readPage(bases[turn % bases.length] as string);
      if (!page) continue;
      for (const { id, state, modified, data = {} } of page.items) {
        if (modified <= lastNumber) outOfOrder.push(`${modified} after ${lastNumber}`);
        lastNumber = modified;
        latest.set(`${facilityId} ${id}`, { modified, isDeleted: state === 'deleted', booking: data });
      }
      address = new URL(page.next).pathname + new URL(page.next).search;
      if (page.items.length > 0) continue;
      if (wasStopping) return;
      await pause(pauseMs);
    }
  }

  const done = follow();
  return {
    /** The latest change of each booking that the reader has seen. The key is `FACILITY BOOKING`, with the two ids. */
    latest,
    /** A text for each change whose number is not higher than the number of the previous change in the feed. */
    outOfOrder,
    /** The statuses of responses other than 200 and 503. Requests without a response are not included. */
    unexpectedStatuses,
    /** Reads to the end of the feed and stops. All writes must have been acknowledged before. */
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}
