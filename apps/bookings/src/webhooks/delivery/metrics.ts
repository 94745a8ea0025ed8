// Registers the metrics of webhooks: the number of delivery attempts for each outcome, and how long the oldest due
// delivery has waited.
import type { Metrics } from '@bay-booking/service/metrics';
import { Counter, Gauge } from 'prom-client';
import { type Outcome, outcomes } from './worker.ts';

/**
 * Returns the function that counts an attempt to deliver. `oldestDue` is called each time Prometheus collects the
 * metrics. It returns when the oldest waiting delivery was due, or undefined if no delivery waits.
 */
export function observeDeliveries(
  { registry }: Metrics,
  oldestDue: () => Promise<Date | undefined>,
  now: () => Date,
): (outcome: Outcome) => void {
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
  return (outcome) => counter.inc({ outcome });
}
