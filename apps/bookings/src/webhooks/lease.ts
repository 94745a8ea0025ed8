// Renews the leases of webhooks, and computes when the current lease period began. To renew a lease, the last request
// of a client with a token that names a facility is recorded. A client can lose its access to a facility, and then gets
// no more such tokens. Its webhooks stop receiving the events of this facility WEBHOOK_LEASE_DAYS days after the last
// such request.
import type { Logger } from '@bay-booking/service/logging';
import type { Caller } from '../auth/caller.ts';
import type { SharedServices } from '../http/shared-services.ts';
import type { WebhookStore } from './api/store.ts';

/**
 * Returns the time at which the current lease period began, WEBHOOK_LEASE_DAYS days ago. A webhook gets the events of a
 * facility only if its client has sent a request with a token for this facility since then.
 */
export const leaseStart = ({ config, now }: Pick<SharedServices, 'config' | 'now'>): Date =>
  new Date(now().getTime() - config.webhookLeaseDays * 86_400_000);

/** The minimum time between two renewals for the same token. */
const minRenewalIntervalMs = 60_000;

/**
 * Returns the function that renews the leases of a client's webhooks. The function must be called for each request. It
 * never throws, and does not wait for the database.
 */
export function createLeaseRenewal(
  store: Pick<WebhookStore, 'renewLeases'>,
  logger: Logger,
  now: () => Date,
): (caller: Caller) => void {
  // The time of the last renewal for each token. The key is the caller object, because the cache of verified tokens
  // returns the same object for all requests with the same token.
  const renewed = new WeakMap<Caller, number>();
  return (caller) => {
    const at = now();
    if (at.getTime() - (renewed.get(caller) ?? Number.NEGATIVE_INFINITY) < minRenewalIntervalMs) return;
    renewed.set(caller, at.getTime());
    store.renewLeases(caller.clientId, caller.facilities, at).catch((err: unknown) => {
      renewed.delete(caller);
      logger.warn({ err }, 'webhook leases not renewed');
    });
  };
}
