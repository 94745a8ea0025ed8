// Reads lists from the replica if it has replayed every change that was acknowledged before the request arrived, and
// from the primary otherwise (docs/decisions/0007-lists-from-a-replica.md).
import { type Database, errorCode, isUnavailable, type Queryable } from '@bay-booking/service/database/database';
import { withTimeout } from '../with-timeout.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import { createReadBarrier } from './read-barrier.ts';
import { type Position, type ReplicaStore, type Session, UnusableReplicaError } from './store.ts';

/**
 * Why a list was read from the primary. The reason is a label of the metric `database_reads_total`.
 * - `behind`: the replica had not replayed the latest changes after `waitMs` milliseconds
 * - `foreign`: the replica does not follow this primary, or has made no checkpoint since the last failover
 * - `away`: there was no connection to the replica, or the connection broke
 * - `conflict`: recovery on the replica cancelled the statement
 * - `failed`: the statement failed on the replica for another reason
 * - `resting`: the circuit breaker was open
 * - `unfenced`: the primary did not return the position that the replica must reach
 */
export type FallbackReason = UnusableReplicaError['reason'] | 'away' | 'conflict' | 'failed' | 'resting' | 'unfenced';

export interface ReadRouter {
  /** `read` must not write. It may run twice: on the replica, and then on the primary. */
  run<T>(read: (db: Queryable) => Promise<T>): Promise<T>;
}

export interface ReadRouterOptions {
  readonly primary: Database;
  readonly store: Pick<ReplicaStore, 'position' | 'open'>;
  /** How many milliseconds a read waits until the replica has replayed the latest changes. */
  readonly waitMs: number;
  readonly onRead: (source: 'primary' | 'replica', reason: FallbackReason | 'none', error?: unknown) => void;
}

/**
 * How many milliseconds a read waits until the primary reports its WAL position. If this takes longer, the read runs on
 * the primary.
 */
const positionTimeout = 1_000;

export function createReadRouter({ primary, store, waitMs, onRead }: ReadRouterOptions): ReadRouter {
  const currentPosition = createReadBarrier(store.position);
  const circuitBreaker = createCircuitBreaker();
  return {
    run: async (read) => {
      const runOnPrimary = (reason: FallbackReason, error?: unknown) => {
        onRead('primary', reason, error);
        return read(primary);
      };
      const attempt = circuitBreaker.begin();
      if (attempt === undefined) return runOnPrimary('resting');
      let position: Position;
      try {
        position = await withTimeout(positionTimeout, currentPosition());
      } catch (error) {
        circuitBreaker.abandon(attempt);
        return runOnPrimary('unfenced', error);
      }
      let session: Session | undefined;
      try {
        const opening = store.open(position, performance.now() + waitMs);
        // `open` ends within `waitMs`, unless the replica does not respond at all. The timeout is 5 ms longer, so that
        // `open` can report its own error first. A session that opens after the timeout is closed.
        session = await withTimeout(waitMs + 5, opening, ({ close }) => close());
        const result = await read(session.db);
        circuitBreaker.succeed(attempt);
        onRead('replica', 'none');
        return result;
      } catch (error) {
        const reason = reasonOf(error);
        // If the statement failed or was cancelled, the replica is reachable, so the circuit breaker does not count a
        // failure. It counts no success either, because the list was not read.
        if (reason === 'conflict' || reason === 'failed') circuitBreaker.abandon(attempt);
        else circuitBreaker.fail(attempt);
        return runOnPrimary(reason, error);
      } finally {
        session?.close();
      }
    },
  };
}

function reasonOf(error: unknown): FallbackReason {
  if (error instanceof UnusableReplicaError) return error.reason;
  // Class 40 of the error codes of PostgreSQL: the transaction was rolled back.
  if (/^40/.test(errorCode(error) ?? '')) return 'conflict';
  return isUnavailable(error) ? 'away' : 'failed';
}
