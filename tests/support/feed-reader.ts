// Reads the change feed of a facility in a loop while a test makes a part of the system fail. The system of a partner
// reads the feed in the same way.
import type { LatestEvent } from './webhook-receiver.ts';

interface Item {
  readonly id: string;
  readonly state: 'updated' | 'deleted';
  readonly modified: number;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface FeedReader {
  /** The latest change of each booking that the reader has seen. */
  readonly latest: ReadonlyMap<string, LatestEvent>;
  /** One text for each change whose number was not higher than the number of the change before it. */
  readonly outOfOrder: readonly string[];
  /** The statuses of responses other than 200 and 503. Requests without a response are not included. */
  readonly unexpectedStatuses: readonly number[];
  /** Reads to the end of the feed and stops. Call this function after the service has confirmed the last write. */
  readonly stop: () => Promise<void>;
}

/** Starts a reader. It sends requests to the instances in turn. The test may change `bases` meanwhile. */
export function startFeedReader(bases: readonly string[], token: string, facilityId: string, limit = 50): FeedReader {
  const latest = new Map<string, LatestEvent>();
  const outOfOrder: string[] = [];
  const unexpectedStatuses: number[] = [];
  let address = `/api/booking-changes?facilityId=${facilityId}&limit=${limit}`;
  let last = 0;
  let isStopping = false;

  async function read(base: string): Promise<{ items: Item[]; next: string } | undefined> {
    try {
      const response = await fetch(base + address, {
        headers: { Authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(20_000),
      });
      const body = (await response.json()) as { items: Item[]; next: string };
      if (response.status === 200) return body;
      if (response.status !== 503) unexpectedStatuses.push(response.status);
    } catch {
      // There was no response, because the test has stopped the instance or its database.
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    return undefined;
  }

  async function follow(): Promise<void> {
    for (let turn = 0; ; turn += 1) {
      const isLastRound = isStopping;
      const page = await read(bases[turn % bases.length] as string);
      if (!page) continue;
      for (const { id, state, modified, data = {} } of page.items) {
        if (modified <= last) outOfOrder.push(`${modified} after ${last}`);
        last = modified;
        latest.set(`${facilityId} ${id}`, { modified, isDeleted: state === 'deleted', booking: data });
      }
      address = new URL(page.next).pathname + new URL(page.next).search;
      if (page.items.length === 0 && isLastRound) return;
    }
  }

  const done = follow();
  return {
    latest,
    outOfOrder,
    unexpectedStatuses,
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}
