// Gives the webhooks of releases without owners to the owner of the first token that a request brings for them. Pauses
// those that nobody claims, because their client may have lost its access.
import { type Database, query } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import { type Caller, ownerOf } from '../auth/caller.ts';

const adopt = `update webhook set owner = $2
where client_id = $1 and owner is null and facility_ids <@ $3::text[] returning id`;

const pauseUnclaimed = `update webhook
set state = 'paused', paused_because = 'the client has sent no request for 7 days'
where state = 'active' and owner is null and exists (
  select from webhook_cursor where webhook_id = webhook.id and seen_at < now() - interval '7 days'
) returning id`;

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
