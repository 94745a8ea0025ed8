// Records when each client last showed that it has access to a facility. Webhooks of a client that has lost its access
// stop receiving events some days later (WEBHOOK_LEASE_DAYS).
//
// The token of every request names the facilities to which the client has access. For each token, the time is written
// at most once per minute.
import type { Logger } from '@bay-booking/service/logging';
import type { Caller } from '../auth/caller.ts';
import type { WebhookStore } from './store.ts';

/** The minimum time between two writes for the same token, in milliseconds. */
const minWriteInterval = 60_000;

/** The returned function must be called for each request. It never throws, and does not wait for the write. */
export function createLeaseRenewal(
  store: Pick<WebhookStore, 'renewLeases'>,
  logger: Logger,
  now: () => Date,
): (caller: Caller) => void {
  // The cache of verified tokens returns the same caller object for all requests with the same token.
  const renewed = new WeakMap<Caller, number>();
  return (caller) => {
    const at = now();
    if (at.getTime() - (renewed.get(caller) ?? Number.NEGATIVE_INFINITY) < minWriteInterval) return;
    renewed.set(caller, at.getTime());
    store.renewLeases(caller.clientId, caller.facilities, at).catch((err: unknown) => {
      renewed.delete(caller);
      logger.warn({ err }, 'webhook leases not renewed');
    });
  };
}
