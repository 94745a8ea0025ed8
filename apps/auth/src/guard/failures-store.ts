// Ends the lock-out of a user name within a transaction. The table is that of failure-counter.ts.
import { type Queryable, query } from '@bay-booking/service/database/database';
import { nameKey } from './keys.ts';

/** The name of the counter of user names in sign-in-guard.ts. */
export const accountCounter = 'account';

export async function forgetFailures(tx: Queryable, username: string): Promise<void> {
  await query(tx, 'delete from guard_count where key = $1', [`${accountCounter}:${nameKey(username)}`]);
}
