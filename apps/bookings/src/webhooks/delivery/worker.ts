// Delivers events: leases due deliveries (delivery-store.ts), sends them, and records the results.
//
// One loop makes all database queries, each for many deliveries. The attempts run concurrently with this loop. Each
// webhook has its own limit of concurrent attempts, and the owners share those of the instance in turn, so a receiver
// that never responds delays only its own events.
import { startLoop } from '@bay-booking/service/periodic';
import { type AttemptOptions, attempt, maxFailingTime } from './attempt.ts';
import type { AttemptResult, DeliveryStore, LeasedDelivery } from './delivery-store.ts';

/** The maximum numbers of concurrent attempts: of a webhook, of a webhook whose attempts fail, and of this instance. */
const limits = { perWebhook: 20, perFailingWebhook: 2, total: 1_000 } as const;
/** The time between two searches for due deliveries. When an attempt ends, the worker searches earlier. */
const pollMilliseconds = 500;

export const outcomes = ['delivered', 'retried', 'failed'] as const;
export type DeliveryOutcome = (typeof outcomes)[number];

export interface WorkerOptions extends AttemptOptions {
  readonly store: Pick<DeliveryStore, 'lease' | 'record'>;
  readonly countOutcome: (outcome: DeliveryOutcome) => void;
}

export type Worker = ReturnType<typeof startWorker>;

export function startWorker(options: WorkerOptions) {
  const { store, countOutcome, logger, now } = options;
  /** Maps the id of each webhook to the number of its attempts that are in progress in this instance. */
  const running = new Map<string, number>();
  const finished: AttemptResult[] = [];
  let runningTotal = 0;
  let isStopped = false;

  async function recordFinished(): Promise<void> {
    const results = finished.splice(0);
    if (results.length === 0) return;
    // If recording the results fails, the attempts are repeated when the leases on the deliveries end.
    await store.record(results, new Date(now().getTime() - maxFailingTime));
    for (const { state } of results) countOutcome(state === 'pending' ? 'retried' : state);
  }

  async function leaseDue(): Promise<void> {
    const remaining = limits.total - runningTotal;
    if (remaining <= 0 || isStopped) return;
    for (const delivery of await store.lease(running, { ...limits, remaining }, now())) start(delivery);
  }

  function start(delivery: LeasedDelivery): void {
    const { id, webhookId } = delivery;
    runningTotal++;
    running.set(webhookId, (running.get(webhookId) ?? 0) + 1);
    attempt(delivery, options)
      .then((result) => finished.push(result))
      // An attempt can fail before its request is sent, for example if no key decrypts the secret. The attempt is
      // repeated when the lease on the delivery ends.
      .catch((err: unknown) => logger.error({ err, webhook: webhookId, delivery: id }, 'delivery not attempted'))
      .finally(() => {
        runningTotal--;
        const remaining = (running.get(webhookId) ?? 1) - 1;
        if (remaining > 0) running.set(webhookId, remaining);
        else running.delete(webhookId);
        void loop.wake();
      });
  }

  const loop = startLoop({
    name: 'webhook deliveries',
    intervalMs: pollMilliseconds,
    run: async () => {
      await recordFinished();
      await leaseDue();
    },
    logger,
  });

  return {
    /** Searches for due deliveries without waiting for the next poll. */
    wake: (): void => void loop.wake(),
    /**
     * Starts no more attempts and records the results of attempts that have ended. Attempts that are still running are
     * repeated when the leases on their deliveries end.
     */
    stop: async (): Promise<void> => {
      isStopped = true;
      await loop.stop();
      await recordFinished().catch((err: unknown) => logger.warn({ err }, 'webhook deliveries not processed'));
    },
  };
}
