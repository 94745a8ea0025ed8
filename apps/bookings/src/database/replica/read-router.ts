// Which server answers a list? The replica, when it has replayed all that was acknowledged before the request came; else, and whatever goes
// wrong with it, the primary. docs/decisions/0007.
import { type Database, errorCode, isUnavailable } from '@bay-booking/service/database/database';
import { withTimeout } from '../with-timeout.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import { createReadBarrier } from './read-barrier.ts';
import { type ReplicaStore, type Session, UnusableReplicaError } from './store.ts';

/**
 * behind: it was not there in time; away: no connection, or one that broke; foreign: no replica of this primary's history; conflict:
 * recovery cancelled the statement; failed: another error; resting: it failed a moment ago; unfenced: the primary did not say how far it is.
 */
export type Fallback = UnusableReplicaError['reason'] | 'away' | 'conflict' | 'failed' | 'resting' | 'unfenced';

export interface ReadRouter {
  /** `work` only reads, and may be run twice: on the replica, then on the primary. */
  run<T>(work: (db: Database) => Promise<T>): Promise<T>;
}

export interface ReadRouterOptions {
  readonly primary: Database;
  readonly store: Pick<ReplicaStore, 'position' | 'open'>;
  /** Milliseconds that a list may wait for the replica. */
  readonly wait: number;
  readonly onRead: (source: 'primary' | 'replica', reason: Fallback | 'none', error?: unknown) => void;
}

/** A primary that says nothing for longer is asked for the list itself, as if there were no replica. */
const fenceWithin = 1_000;

export function createReadRouter({ primary, store, wait, onRead }: ReadRouterOptions): ReadRouter {
  const fence = createReadBarrier(store.position);
  const rest = createCircuitBreaker();
  return {
    run: async (work) => {
      const onPrimary = (reason: Fallback, error?: unknown) => {
        onRead('primary', reason, error);
        return work(primary);
      };
      const attempt = rest.begin();
      if (attempt === undefined) return onPrimary('resting');
      let position: Awaited<ReturnType<typeof store.position>>;
      try {
        position = await withTimeout(fenceWithin, fence());
      } catch (error) {
        rest.skip(attempt);
        return onPrimary('unfenced', error);
      }
      let session: Session | undefined;
      try {
        const opening = store.open(position, performance.now() + wait);
        session = await withTimeout(wait + 5, opening, ({ close }) => close());
        const found = await work(session.db);
        rest.succeed(attempt);
        onRead('replica', 'none');
        return found;
      } catch (error) {
        const reason = reasonOf(error);
        if (reason === 'conflict' || reason === 'failed') rest.skip(attempt);
        else rest.fail(attempt);
        return onPrimary(reason, error);
      } finally {
        session?.close();
      }
    },
  };
}

function reasonOf(error: unknown): Fallback {
  if (error instanceof UnusableReplicaError) return error.reason;
  if (/^40/.test(errorCode(error) ?? '')) return 'conflict';
  return isUnavailable(error) ? 'away' : 'failed';
}
