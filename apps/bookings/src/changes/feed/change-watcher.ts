// Lets requests wait until the bookings of a facility change. A waiting request uses no database connection. All
// waiting requests of this instance share one query every half second, for all facilities that they wait for.
// Notifications of PostgreSQL (LISTEN) would need a connection that PgBouncer cannot pool.
import type { FeedStore } from './store.ts';

export interface WaitingRequest {
  readonly facilityId: string;
  /** The highest change number that the request has seen. */
  readonly changeNumber: number;
  readonly clientId: string;
}

interface Waiter extends WaitingRequest {
  readonly wake: () => void;
}

export interface ChangeWatcherOptions {
  readonly store: Pick<FeedStore, 'numberChanges'>;
  /** Aborted when the process begins to stop, which ends every wait. */
  readonly stopping?: AbortSignal | undefined;
}

export type ChangeWatcher = ReturnType<typeof createChangeWatcher>;

const pollMilliseconds = 500;
/** Every waiting request keeps an HTTP connection open, and an instance has at most MAX_CONNECTIONS of them. */
const maxWaiters = 2_500;
/** Is less than half of `maxWaiters`, so that one client cannot take the places of all others. */
const maxWaitersPerClient = 1_200;

export function createChangeWatcher({ store, stopping }: ChangeWatcherOptions) {
  const waiters = new Set<Waiter>();
  const waitersByClient = new Map<string, number>();
  let isPolling = false;

  stopping?.addEventListener('abort', () => {
    for (const { wake } of waiters) wake();
  });

  async function wakeChanged(): Promise<void> {
    const facilityIds = [...new Set([...waiters].map(({ facilityId }) => facilityId))];
    const latestNumbers = await store.numberChanges(facilityIds);
    for (const { facilityId, changeNumber, wake } of waiters) {
      if ((latestNumbers.get(facilityId) ?? 0) > changeNumber) wake();
    }
  }

  async function poll(): Promise<void> {
    // After its wait, each request queries the database itself, and reports the error.
    await wakeChanged().catch(() => {});
    schedule();
  }

  function schedule(): void {
    isPolling = waiters.size > 0;
    if (isPolling) setTimeout(() => void poll(), pollMilliseconds).unref();
  }

  const clientMayWait = (clientId: string): boolean =>
    (waitersByClient.get(clientId) ?? 0) < maxWaitersPerClient && waiters.size < maxWaiters && !stopping?.aborted;

  const countWaiter = (clientId: string, change: 1 | -1): void => {
    const waiting = (waitersByClient.get(clientId) ?? 0) + change;
    if (waiting === 0) waitersByClient.delete(clientId);
    else waitersByClient.set(clientId, waiting);
  };

  return {
    /**
     * Waits until the change number of the facility is above `changeNumber`, or for `milliseconds` at most. Returns
     * true after the wait, even without a change. Returns false without waiting if too many requests of the client or
     * of all clients already wait, or if the service is already stopping.
     */
    waitForChange: async (request: WaitingRequest, milliseconds: number): Promise<boolean> => {
      if (!clientMayWait(request.clientId)) return false;
      countWaiter(request.clientId, 1);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          if (waiters.delete(waiter)) countWaiter(request.clientId, -1);
          resolve();
        };
        const timer = setTimeout(wake, milliseconds);
        const waiter: Waiter = { ...request, wake };
        waiters.add(waiter);
        if (!isPolling) schedule();
      });
      return true;
    },
  };
}
