// Gives each webhook from a release without owners to the owner of the next token of its client. Pauses the webhooks
// that no token claims, because their client may have lost its access.
import { type Database, query } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { type Caller, ownerOf } from '../auth/caller.ts';
import { adopt, pauseUnclaimed } from './rights-statements.ts';

/** Returns a function to be called for each request. It never throws, and does not wait for the database. */
export function createAdoption(db: Database, logger: Logger): (caller: Caller) => void {
  // The cache of verified tokens returns the same object for all requests with the same token.
  const known = new WeakSet<Caller>();
  return (caller) => {
    if (known.has(caller)) return;
    known.add(caller);
    query(db, adopt, [caller.clientId, ownerOf(caller), caller.facilities]).catch((err: unknown) => {
      known.delete(caller);
      logger.warn({ err }, 'owners of webhooks not recorded');
    });
  };
}

export const pauseUnclaimedWebhooks = (db: Database) => query(db, pauseUnclaimed);
