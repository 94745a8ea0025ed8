// Lets requests wait until a facility changes, without a database connection and without a query for each request.
//
// All requests that wait in this instance share one query every half second. The query names every facility that
// somebody waits for. A notification (LISTEN) would need a connection that PgBouncer cannot pool.
import type { FeedStore } from './store.ts';

interface Waiter {
  readonly facilityId: string;
  /** The change number that the request has seen. */
  readonly changeNumber: number;
  readonly wake: () => void;
}

export interface ChangeWatcherOptions {
  readonly store: Pick<FeedStore, 'heads' | 'number'>;
  /** Ends every wait, because the process stops. */
  readonly stopping?: AbortSignal | undefined;
}

export type ChangeWatcher = ReturnType<typeof createChangeWatcher>;

const pollMilliseconds = 500;
/** A request above this limit does not wait. */
const maxWaiters = 10_000;

export function createChangeWatcher({ store, stopping }: ChangeWatcherOptions) {
  const waiters = new Set<Waiter>();
  let isPolling = false;

  stopping?.addEventListener('abort', () => {
    for (const { wake } of waiters) wake();
  });

  async function wakeChanged(): Promise<void> {
    const facilityIds = [...new Set([...waiters].map(({ facilityId }) => facilityId))];
    const changeNumbers = new Map<string, number>();
    for (const { facilityId, changeNumber, hasUnnumberedChanges } of await store.heads(facilityIds)) {
      // The changes are numbered here once, and not by each of the requests that wake up.
      const head = hasUnnumberedChanges ? await store.number(facilityId) : { changeNumber };
      changeNumbers.set(facilityId, head.changeNumber);
    }
    for (const { facilityId, changeNumber, wake } of waiters) {
      if ((changeNumbers.get(facilityId) ?? 0) > changeNumber) wake();
    }
  }

  async function poll(): Promise<void> {
    // While the database is unavailable, nothing wakes. The query of each request reports the error after its wait.
    await wakeChanged().catch(() => {});
    schedule();
  }

  function schedule(): void {
    isPolling = waiters.size > 0;
    if (isPolling) setTimeout(() => void poll(), pollMilliseconds).unref();
  }

  return {
    /** Resolves after the facility has got a number above `changeNumber`, or after `milliseconds`. */
    waitForChange: (facilityId: string, changeNumber: number, milliseconds: number): Promise<void> => {
      if (waiters.size >= maxWaiters || stopping?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          waiters.delete(waiter);
          resolve();
        };
        const timer = setTimeout(wake, milliseconds);
        const waiter: Waiter = { facilityId, changeNumber, wake };
        waiters.add(waiter);
        if (!isPolling) schedule();
      });
    },
  };
}
