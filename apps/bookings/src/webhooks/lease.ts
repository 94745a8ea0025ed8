// Notes which facilities each client may still see, so that webhooks stop when a client has lost its access.
//
// Every request shows that the client has a token that names some facilities. One write per token and minute records
// the time.
import type { Logger } from '@bay-booking/service/logging';
import type { Caller } from '../auth/caller.ts';
import type { WebhookStore } from './store.ts';

const interval = 60_000;

/** Returns the function to call with the caller of each request. It never throws, and the request does not wait. */
export function createLeaseRenewal(
  store: Pick<WebhookStore, 'renewLeases'>,
  logger: Logger,
  now: () => Date,
): (caller: Caller) => void {
  // While a token is cached, its requests have the same caller object.
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
