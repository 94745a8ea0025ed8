// Records when each client last showed that it has access to a facility. Webhooks of a client that has lost its access
// stop receiving events some days later (WEBHOOK_LEASE_DAYS).
//
// Every request shows the access, because its token names the facilities. For each token, the time is written at most
// once per minute.
import type { Logger } from '@bay-booking/service/logging';
import type { Caller } from '../auth/caller.ts';
import type { WebhookStore } from './store.ts';

/** The minimum time between two writes for the same token, in milliseconds. */
const interval = 60_000;

/**
 * Returns a function to call with the caller of each request. The function never throws, and returns without waiting.
 */
export function createLeaseRenewal(
  store: Pick<WebhookStore, 'renewLeases'>,
  logger: Logger,
  now: () => Date,
): (caller: Caller) => void {
  // All requests with the same cached token have the same caller object.
  const renewed = new WeakMap<Caller, number>();
  return (caller) => {
    const at = now();
    if (at.getTime() - (renewed.get(caller) ?? Number.NEGATIVE_INFINITY) < interval) return;
    renewed.set(caller, at.getTime());
    store.renewLeases(caller.clientId, caller.facilities, at).catch((err: unknown) => {
      renewed.delete(caller);
      logger.warn({ err }, 'webhook leases not renewed');
    });
  };
}
