// Renews the leases of webhooks. A client that loses its access to a facility gets no more tokens for it. Its webhooks
// stop receiving the events of this facility WEBHOOK_LEASE_DAYS days after its last request with such a token. The time
// of this request is the column `seen_at` of webhook_cursor.
import { type Logger, oncePerMinute } from '@bay-booking/service/logging';
import type { Caller } from '../auth/caller.ts';
import type { SharedServices } from '../http/shared-services.ts';
import type { CursorStore } from './delivery/cursor-store.ts';

/** Returns the time since which a client must have sent a request with a token for the facility. */
export const leaseStart = ({ config, now }: Pick<SharedServices, 'config' | 'now'>): Date =>
  new Date(now().getTime() - config.webhookLeaseDays * 86_400_000);

/** The minimum time between two renewals for the same token. */
const minRenewalIntervalMs = 60_000;

/** Returns a function to be called for each request. It never throws, and does not wait for the database. */
export function createLeaseRenewal(
  store: Pick<CursorStore, 'renewLeases'>,
  logger: Logger,
  now: () => Date,
): (caller: Caller) => void {
  // The time of the last renewal for each token. The key is the caller object, because the cache of verified tokens
  // returns the same object for all requests with the same token.
  const renewed = new WeakMap<Caller, number>();
  const logFailure = oncePerMinute((err: unknown) => logger.warn({ err }, 'webhook leases not renewed'));
  return (caller) => {
    const at = now();
    if (at.getTime() - (renewed.get(caller) ?? Number.NEGATIVE_INFINITY) < minRenewalIntervalMs) return;
    renewed.set(caller, at.getTime());
    store.renewLeases(caller.clientId, caller.facilities, at).catch((err: unknown) => {
      renewed.delete(caller);
      logFailure(err);
    });
  };
}
