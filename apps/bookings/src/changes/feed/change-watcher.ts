// Lets requests wait until the bookings of a facility change. A waiting request uses no database connection. All
// waiting requests of this instance share one query every half second, for all facilities that they wait for.
// Notifications of PostgreSQL (LISTEN) would need a connection that PgBouncer cannot pool.
import { type Caller, ownerOf } from '../../auth/caller.ts';
import type { FeedStore } from './store.ts';

export interface WaitingRequest {
  readonly facilityId: string;
  /** The highest change number that the request has seen. */
  readonly changeNumber: number;
  readonly caller: Caller;
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
/** Every waiting request keeps an HTTP connection open, and an instance has at most 5000 of them. */
const maxWaiters = 2_500;
/** Is less than half of `maxWaiters`, so that an owner with many facilities cannot take the places of all others. */
const maxWaitersPerOwner = 1_200;
const maxWaitersPerFacility = 100;

export function createChangeWatcher({ store, stopping }: ChangeWatcherOptions) {
  const waiters = new Set<Waiter>();
  let isPolling = false;

  stopping?.addEventListener('abort', () => {
    for (const { wake } of waiters) wake();
  });

  async function wakeChanged(): Promise<void> {
    const facilityIds = [...new Set([...waiters].map(({ facilityId }) => facilityId))];
    const latestNumbers = await store.numberChanges(facilityIds, async () => true);
    for (const { facilityId, changeNumber, wake } of waiters) {
      if ((latestNumbers.get(facilityId) ?? 0) > changeNumber) wake();
    }
  }

  async function poll(): Promise<void> {
    // After its wait, each request queries the database itself and reports the error.
    await wakeChanged().catch(() => {});
    schedule();
  }

  function schedule(): void {
    isPolling = waiters.size > 0;
    if (isPolling) setTimeout(() => void poll(), pollMilliseconds).unref();
  }

  const mayWait = ({ caller, facilityId }: WaitingRequest): boolean => {
    const ofOwner = [...waiters].filter((waiter) => ownerOf(waiter.caller) === ownerOf(caller));
    const atFacility = ofOwner.filter((waiter) => waiter.facilityId === facilityId);
    const isOwnerBelowLimit = ofOwner.length < maxWaitersPerOwner && atFacility.length < maxWaitersPerFacility;
    return isOwnerBelowLimit && waiters.size < maxWaiters && !stopping?.aborted;
  };

  return {
    /**
     * Waits until the change number of the facility is above `changeNumber`, or for `milliseconds` at most. Returns
     * true after the wait, even without a change. Returns false without waiting if too many requests of the owner or
     * of all owners already wait, or if the service is already stopping.
     */
    waitForChange: async (request: WaitingRequest, milliseconds: number): Promise<boolean> => {
      if (!mayWait(request)) return false;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          waiters.delete(waiter);
          resolve();
        };
        const timer = setTimeout(wake, milliseconds);
        const waiter: Waiter = { ...request, wake };
        waiters.add(waiter);
        if (!isPolling) schedule();
      });
      return true;
    },

    /** Ends the waits of callers whose tokens were revoked. */
    endWaits: (isRevoked: (caller: Caller) => boolean): void => {
      for (const { caller, wake } of waiters) if (isRevoked(caller)) wake();
    },
  };
}
