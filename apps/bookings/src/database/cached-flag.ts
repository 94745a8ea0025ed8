// What does the database say of itself that seldom changes? Asked again every few seconds, and taken for a no while it does not tell.
import { type Database, query } from '@bay-booking/service/database/database';
import { withTimeout } from './with-timeout.ts';

const askAgainAfter = 5_000;
const patience = 1_000;

/** Never fails. */
export type CachedFlag = () => Promise<boolean>;

/** `sql` answers one row with a `flag`. */
export function createCachedFlag(db: Database, sql: string): CachedFlag {
  let askAt = -Infinity;
  let answer: Promise<boolean> = Promise.resolve(false);
  return () => {
    const now = performance.now();
    if (now < askAt) return answer;
    askAt = now + askAgainAfter;
    answer = withTimeout(patience, query<{ flag: boolean }>(db, sql)).then(
      ([row]) => row?.flag ?? false,
      () => {
        askAt = now + 2 * patience;
        return false;
      },
    );
    return answer;
  };
}
