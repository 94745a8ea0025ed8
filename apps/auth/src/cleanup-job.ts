// Deletes expired rows every minute, in batches. Every instance runs this job. Several instances can run it at the same
// time, because each statement skips rows that another statement has locked.
import { isUnavailable } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';

const intervalMs = 60_000;
/** The maximum number of rows that a statement deletes. */
const batchSize = 1_000;

export interface CleanUpOptions {
  /**
   * Each function deletes up to `limit` expired rows from each of its tables. It returns the highest number of rows
   * that it deleted from one table. If this is `limit`, there may be more expired rows, so it is called again.
   */
  readonly cleanUps: readonly ((limit: number) => Promise<number>)[];
  readonly logger: Logger;
}

/** Returns a function that stops the job. */
export function startCleanUp({ cleanUps, logger }: CleanUpOptions): () => void {
  let stopped = false;
  const run = async (): Promise<void> => {
    for (const cleanUp of cleanUps) {
      try {
        while (!stopped && (await cleanUp(batchSize)) === batchSize);
      } catch (err) {
        // While the database is unavailable, failed requests already log warnings, so this job needs no warning.
        logger[isUnavailable(err) ? 'debug' : 'warn']({ err }, 'deleting expired rows failed and will be retried');
      }
    }
  };
  const timer = setInterval(() => void run(), intervalMs);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
