// Delivers events: claims due deliveries (delivery-store.ts), sends them, and records the results. Every instance has
// one worker.
//
// One loop makes all database queries, each for many deliveries. The attempts run concurrently with this loop. Each
// webhook has its own limit of concurrent attempts, so a receiver that never responds delays only its own events.
import type { Logger } from '@bay-booking/service/logging';
import type { OutboundClient } from '@bay-booking/service/outbound/client';
import type { SharedServices } from '../../http/shared-services.ts';
import { withJitter } from '../../jitter.ts';
import { leaseStart } from '../lease.ts';
import type { SecretBox } from '../secrets.ts';
import type { AttemptResult, ClaimedDelivery, DeliveryStore } from './delivery-store.ts';
import { maxFailingTime, nextAttemptAt } from './schedule.ts';
import { signedHeaders } from './signature.ts';

/** The maximum numbers of concurrent attempts: of a webhook, of a webhook whose attempts fail, and of this instance. */
const limits = { perWebhook: 20, perFailingWebhook: 2, total: 1_000 } as const;
/** The time between two searches for due deliveries. When an attempt ends, the worker searches earlier. */
const pollMilliseconds = 500;
/** The poll time varies by this share, so that the instances do not search at the same times. */
const pollJitter = 0.25;
/** The results of all attempts that end during this time are recorded together. */
const recordDelayMilliseconds = 10;
/**
 * Must be shorter than the time for which an instance claims a delivery (delivery-store.ts). After that time, another
 * instance may attempt the delivery.
 */
const attemptTimeoutMilliseconds = 15_000;

export type Outcome = 'delivered' | 'retried' | 'failed';

export interface WorkerOptions extends SharedServices {
  readonly store: Pick<DeliveryStore, 'claim' | 'record'>;
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
  /** Ends the pause of the loop early. Has no effect while the loop does not pause. */
  let wakeUp = (): void => {};

  /** Records the results of finished attempts, claims due deliveries, and starts their attempts. */
  async function work(): Promise<void> {
    if (finished.length > 0) {
      const results = finished.splice(0);
      // If recording the results fails, the attempts are repeated when the claims on the deliveries end
      // (delivery-store.ts).
      await store.record(results, new Date(now().getTime() - maxFailingTime));
      for (const { state } of results) countOutcome(state === 'pending' ? 'retried' : state);
    }
    if (isStopped) return;
    const total = limits.total - runningTotal;
    if (total <= 0) return;
    for (const delivery of await store.claim(running, { ...limits, total }, leaseStart(options), now()))
      start(delivery);
  }

  function start(delivery: ClaimedDelivery): void {
    const { id, webhookId } = delivery;
    runningTotal++;
    running.set(webhookId, (running.get(webhookId) ?? 0) + 1);
    attempt(delivery, options)
      .then((result) => finished.push(result))
      // An attempt can fail before its request is sent, for example if no key decrypts the secret. The attempt is
      // repeated when the claim on the delivery ends (delivery-store.ts).
      .catch((err: unknown) => logger.error({ err, webhook: webhookId, delivery: id }, 'delivery not attempted'))
      .finally(() => {
        runningTotal--;
        const remaining = (running.get(webhookId) ?? 1) - 1;
        if (remaining > 0) running.set(webhookId, remaining);
        else running.delete(webhookId);
        wakeUp();
      });
  }

  /** Ends after `isStopped` was set, when the results of all finished attempts are recorded. */
  async function loop(): Promise<void> {
    while (!isStopped || finished.length > 0) {
      await work().catch((err: unknown) => logger.warn({ err }, 'webhook deliveries not processed'));
      // The loop does not pause if results remain to be recorded, or if it must end.
      if (isStopped || finished.length > 0) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withJitter(pollMilliseconds, pollJitter));
        wakeUp = () => {
          clearTimeout(timer);
          setTimeout(resolve, recordDelayMilliseconds);
        };
      });
      wakeUp = () => {};
    }
  }

  const ended = loop();
  return {
    /** Searches for due deliveries without waiting for the next poll. */
    wake: (): void => wakeUp(),
    /**
     * Stops the worker: it starts no more attempts, and records the results of attempts that have ended. Attempts that
     * are still running are repeated when the claims on their deliveries end (delivery-store.ts).
     */
    stop: async (): Promise<void> => {
      isStopped = true;
      wakeUp();
      await ended;
    },
  };
}

/** Sends the delivery to its receiver. Any status from 200 to 299 is a success. */
async function attempt(delivery: ClaimedDelivery, options: WorkerOptions): Promise<AttemptResult> {
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
    logger.info({ err, webhook: webhookId, delivery: id }, 'webhook receiver not reached');
  }
  const result = { id, webhookId, attempts, status, attemptedAt };
  if (status !== null && status >= 200 && status < 300)
    return { ...result, state: 'delivered', nextAttemptAt: undefined };
  const next = nextAttemptAt(attempts, now(), retryAfter);
  return { ...result, state: next ? 'pending' : 'failed', nextAttemptAt: next };
}
