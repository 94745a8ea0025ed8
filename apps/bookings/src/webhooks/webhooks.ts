// Creates and connects the parts of webhooks: the endpoints, the feeder (creates deliveries for changes), the worker
// (sends the deliveries) and the periodic jobs.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import { createOutboundClient } from '@bay-booking/service/outbound';
import { createSecretBox } from '@bay-booking/service/secret-box';
import { Counter, Gauge } from 'prom-client';
import type { FeedStore } from '../changes/feed/store.ts';
import type { BookingState } from '../changes/log.ts';
import type { EndpointServices } from '../http/endpoint-parts.ts';
import { createDeliveryEndpoints } from './api/delivery-endpoints.ts';
import { createWebhookEndpoints } from './api/endpoints.ts';
import { createFacilityWebhookEndpoints } from './api/facility-endpoints.ts';
import { createWebhookStore } from './api/store.ts';
import { createCursorStore } from './delivery/cursor-store.ts';
import { createDeliveryStore } from './delivery/delivery-store.ts';
import { startFeeder } from './delivery/feeder.ts';
import { createResend } from './delivery/resend-store.ts';
import { type DeliveryOutcome, outcomes, startWorker, type Worker } from './delivery/worker.ts';
import { reencryptSecrets } from './reencrypt.ts';

const dayMilliseconds = 86_400_000;
/** How long ended deliveries are listed. */
const deliveryLifetimeMilliseconds = 30 * dayMilliseconds;

interface WebhookOptions extends EndpointServices {
  readonly metrics: Metrics;
  readonly db: Database;
  /** The first key encrypts the signing secrets. The other keys only decrypt secrets that they encrypted earlier. */
  readonly keys: readonly Buffer[];
  /** Returns a booking as an item of a list. */
  readonly bookingItem: (state: BookingState) => object;
  readonly feed: FeedStore;
  readonly logger: Logger;
}

export function connectWebhooks(options: WebhookOptions) {
  const { db, keys, bookingItem, feed, logger, metrics, now } = options;
  // The worker limits the concurrent attempts of each webhook. Many webhooks may have the same host, so the limit of
  // connections to a host is high.
  const allowNetworks = options.config.webhookAllowNetworks;
  const outbound = createOutboundClient({ allowNetworks, maxConnectionsPerHost: 2_000 });
  const secretBox = createSecretBox(keys);
  const store = createWebhookStore(db);
  const deliveries = createDeliveryStore(db);
  const cursors = createCursorStore(db);
  const countOutcome = observeDeliveries(metrics, deliveries.oldestDue, now);
  /** Undefined until `start` is called. */
  let worker: Worker | undefined;
  const wakeWorker = (): void => worker?.wake();
  const resend = createResend({ db, feed, bookingItem });
  const services = { ...options, store, deliveries, cursors, resend, secretBox, outbound, wakeWorker };

  return {
    endpoints: [
      ...createWebhookEndpoints(services),
      ...createDeliveryEndpoints(services),
      ...createFacilityWebhookEndpoints(services),
    ],
    periodicJobs: [
      {
        name: 'webhook deliveries',
        intervalMs: 900_000,
        run: () => deliveries.deleteExpired(new Date(now().getTime() - deliveryLifetimeMilliseconds)),
      },
      { name: 'webhook secrets', intervalMs: 60_000, run: () => reencryptSecrets({ store, secretBox, logger }) },
    ],
    /** Begins to deliver events. Returns a function that stops the deliveries. */
    start: () => {
      worker = startWorker({ now, store: deliveries, secretBox, outbound, countOutcome, logger });
      const feeder = startFeeder({ now, cursors, feed, bookingItem, wakeWorker, logger });
      return async () => {
        await Promise.all([feeder.stop(), worker?.stop()]);
        outbound.close();
      };
    },
  };
}

/**
 * Returns the function that counts an attempt to deliver. `oldestDue` is called each time Prometheus collects the
 * metrics. It returns when the oldest waiting delivery was due, or undefined if no delivery waits.
 */
function observeDeliveries({ registry }: Metrics, oldestDue: () => Promise<Date | undefined>, now: () => Date) {
  const counter = new Counter({
    name: 'webhook_deliveries_total',
    help: 'Attempts to deliver an event, by outcome: delivered, retried (failed, repeated later) or failed (last attempt).',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // Prometheus sees the increase from 0 to 1.
  for (const outcome of outcomes) counter.inc({ outcome }, 0);
  new Gauge({
    name: 'webhook_oldest_pending_seconds',
    help: 'Seconds that the oldest due delivery of the active webhooks has waited; 0 if none waits.',
    registers: [registry],
    async collect() {
      // If the database is unavailable, the gauge is 0, and Prometheus still gets all other metrics.
      const due = await oldestDue().catch(() => undefined);
      this.set(due ? Math.max((now().getTime() - due.getTime()) / 1000, 0) : 0);
    },
  });
  return (outcome: DeliveryOutcome): void => counter.inc({ outcome });
}
