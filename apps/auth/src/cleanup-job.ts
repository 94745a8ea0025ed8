// Deletes expired rows every minute, in batches. Every instance runs this job. Two instances at the same time do no
// harm, because each statement skips rows that another one has locked.
import { isUnavailable } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';

/** Milliseconds. */
const interval = 60_000;
const batchSize = 1_000;

export interface CleanUpOptions {
  /** Each deletes up to `limit` expired rows of one table and returns how many it deleted. */
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
        // When the database is unavailable, the requests that fail log a warning already.
        logger[isUnavailable(err) ? 'debug' : 'warn']({ err }, 'deleting expired rows failed and will be retried');
      }
    }
  };
  const timer = setInterval(() => void run(), interval);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
