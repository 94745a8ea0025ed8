// Who takes away what has expired? Every instance, now and then, a bounded number of rows at a time; two at once skip each other's.
import { isUnavailable } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';

const interval = 60_000;
const batch = 1_000;

export interface CleanUpOptions {
  /** Each deletes at most `limit` rows of a table and answers how many. */
  readonly cleanUps: readonly ((limit: number) => Promise<number>)[];
  readonly logger: Logger;
}

export function startCleanUp({ cleanUps, logger }: CleanUpOptions): () => void {
  let stopped = false;
  const run = async (): Promise<void> => {
    for (const cleanUp of cleanUps) {
      try {
        while (!stopped && (await cleanUp(batch)) === batch);
      } catch (err) {
        // Requests tell of a database that is away; of anything else nobody does.
        logger[isUnavailable(err) ? 'debug' : 'warn']({ err }, 'clean-up will be tried again');
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
