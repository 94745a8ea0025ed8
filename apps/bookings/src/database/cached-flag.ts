// Caches a boolean that the database reports about itself, such as whether its tables are distributed.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { withTimeout } from './with-timeout.ts';

const cacheMilliseconds = 5_000;
const cacheMillisecondsAfterFailure = 2_000;
const timeoutMilliseconds = 1_000;

/** Returns the flag. Never rejects: if the database does not respond in time, the result is false. */
export type CachedFlag = () => Promise<boolean>;

/** Creates the function that reads the flag. `sql` returns one row with a boolean column `flag`. */
export function createCachedFlag(db: Queryable, sql: string): CachedFlag {
  // No value is cached before the first call.
  let expiresAt = -Infinity;
  let flag: Promise<boolean> = Promise.resolve(false);
  return () => {
    const now = performance.now();
    if (now < expiresAt) return flag;
    expiresAt = now + cacheMilliseconds;
    flag = withTimeout(timeoutMilliseconds, query<{ flag: boolean }>(db, sql)).then(
      ([row]) => row?.flag ?? false,
      () => {
        expiresAt = now + cacheMillisecondsAfterFailure;
        return false;
      },
    );
    return flag;
  };
}
