// Delivers events: leases due deliveries (delivery-store.ts), sends them, and records the results.
//
// One loop makes all database queries, each for many deliveries. The attempts run concurrently with this loop. Each
// webhook has its own limit of concurrent attempts, and the owners share those of the instance in turn, so a receiver
// that never responds delays only its own events.
import type { Logger } from '@bay-booking/service/logging';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import { startLoop } from '@bay-booking/service/periodic';
import type { SecretBox } from '@bay-booking/service/secret-box';
import type { SharedServices } from '../../http/shared-services.ts';
import type { AttemptResult, DeliveryStore, LeasedDelivery } from './delivery-store.ts';
import { failureReason } from './failure.ts';
import { maxFailingTime, nextAttemptAt } from './schedule.ts';
import { signedHeaders } from './signature.ts';

/** The maximum numbers of concurrent attempts: of a webhook, of a webhook whose attempts fail, and of this instance. */
const limits = { perWebhook: 20, perFailingWebhook: 2, total: 1_000 } as const;
/** The time between two searches for due deliveries. When an attempt ends, the worker searches earlier. */
const pollMilliseconds = 500;
/**
 * Must be shorter than the lease of a delivery (delivery-store.ts), after which another instance may attempt the
 * delivery.
 */
const attemptTimeoutMilliseconds = 15_000;

export const outcomes = ['delivered', 'retried', 'failed'] as const;
export type Outcome = (typeof outcomes)[number];

export interface WorkerOptions extends SharedServices {
  readonly store: Pick<DeliveryStore, 'lease' | 'record'>;
  readonly secretBox: SecretBox;
  readonly outbound: Pick<OutboundClient, 'request'>;
  readonly countOutcome: (outcome: Outcome) => void;
  readonly logger: Logger;
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

/** Sends the delivery to its receiver. Any status from 200 to 299 is a success. */
async function attempt(delivery: LeasedDelivery, options: WorkerOptions): Promise<AttemptResult> {
  const { outbound, secretBox, logger, now } = options;
  const { id, webhookId, body, url, secret, previousSecret } = delivery;
  const attemptedAt = now();
  const secrets = [secret, previousSecret].filter((text) => text !== null);
  const headers = signedHeaders(
    { id, body, attemptAt: attemptedAt },
    secrets.map((text) => secretBox.decrypt(text, webhookId)),
  );
  const attempts = delivery.attempts + 1;
  let status: number | null = null;
  let error: string | null = null;
  let retryAfter: string | undefined;
  try {
    const response = await outbound.request(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'BayBooking-Webhooks', ...headers },
      body,
      timeout: attemptTimeoutMilliseconds,
      // Only the status and the header Retry-After are needed.
      maxBytes: 0,
    });
    status = response.status;
    retryAfter = response.headers['retry-after'];
  } catch (err) {
    error = failureReason(err);
    logger.info({ err, webhook: webhookId, delivery: id }, 'webhook receiver not reached');
  }
  const result = { id, webhookId, attempts, status, error, attemptedAt };
  if (status !== null && status >= 200 && status < 300)
    return { ...result, state: 'delivered', nextAttemptAt: undefined };
  const next = nextAttemptAt(attempts, now(), retryAfter);
  return { ...result, state: next ? 'pending' : 'failed', nextAttemptAt: next };
}
