// Sends the entries of the outbox and counts the results. Entries wait in a table, so that users do not wait for mail
// servers and clients, and commands can add entries for the running instances.
import type { Database } from '@bay-booking/service/database/database';
import type { Logger } from '@bay-booking/service/logging';
import type { Metrics } from '@bay-booking/service/metrics';
import { startLoop } from '@bay-booking/service/periodic';
import { Counter, Gauge } from 'prom-client';
import { createOutboxStore, type OutboxEntry, type OutboxKind, type OutboxStore, outboxKinds } from './store.ts';

export interface Delivery {
  /** One of `results`, for the metrics. */
  readonly result: string;
  /** If undefined, the entry is deleted. */
  readonly retryInSeconds?: number;
}

export interface OutboxSender {
  readonly results: readonly string[];
  /** Whether another instance sends the entry again if this one ends unexpectedly. */
  readonly isRepeatable: boolean;
  /** Entries wait while this is false. */
  readonly isReady: () => boolean;
  /** Must not throw an error because of the receiver. */
  readonly send: (entry: OutboxEntry) => Promise<Delivery>;
}

export type Outbox = ReturnType<typeof createOutbox>;

const checkIntervalMs = 1_000;
const maxParallel = 200;
/** A receiver that does not respond must not delay the entries of others. */
const maxParallelPerTarget = 10;
/** More than all timeouts of an attempt together, so that no other instance sends the same entry. */
const leaseSeconds = 120;

type Senders = Readonly<Record<OutboxKind, OutboxSender>>;

export function createOutbox(db: Database, logger: Logger, metrics: Metrics, senders: Senders) {
  const store = createOutboxStore(db);
  const count = observeOutbox(metrics, senders, store);
  const inProgress = new Set<Promise<void>>();
  const inProgressByTarget = new Map<string, number>();

  const deliver = async (entry: OutboxEntry): Promise<void> => {
    const { send, isRepeatable } = senders[entry.kind];
    if (!isRepeatable && !(await store.delete(entry.id))) return;
    const { result, retryInSeconds } = await send(entry);
    count(entry.kind, result);
    if (retryInSeconds !== undefined) await store.retryIn(entry.id, retryInSeconds);
    else if (isRepeatable) await store.delete(entry.id);
  };

  const start = (entry: OutboxEntry): void => {
    const { kind, id, target } = entry;
    inProgressByTarget.set(target, (inProgressByTarget.get(target) ?? 0) + 1);
    const delivery = deliver(entry)
      .catch((err: unknown) => logger.warn({ err, kind, id }, 'outbox entry not sent'))
      .finally(() => {
        inProgress.delete(delivery);
        const left = (inProgressByTarget.get(target) ?? 1) - 1;
        if (left > 0) inProgressByTarget.set(target, left);
        else inProgressByTarget.delete(target);
        void loop.wake();
      });
    inProgress.add(delivery);
  };

  const leaseAndStart = async (): Promise<void> => {
    const kinds = outboxKinds.filter((kind) => senders[kind].isReady());
    const limit = maxParallel - inProgress.size;
    if (limit <= 0 || kinds.length === 0) return;
    const except = [...inProgressByTarget].filter(([, count]) => count >= maxParallelPerTarget).map(([name]) => name);
    const entries = await store.lease({
      kinds,
      limit,
      maxPerTarget: maxParallelPerTarget,
      except,
      seconds: leaseSeconds,
    });
    for (const entry of entries) start(entry);
  };

  const loop = startLoop({ name: 'outbox', intervalMs: checkIntervalMs, logger, run: leaseAndStart });

  return {
    count,
    /** Sends entries that were just added. */
    wake: (): void => void loop.wake(),
    waitUntilIdle: async () => {
      await loop.wake();
      while (inProgress.size > 0) {
        await Promise.all(inProgress);
        await loop.wake();
      }
    },
    close: async () => {
      await loop.stop();
      await Promise.all(inProgress);
    },
  };
}

/** Returns the function that counts a result. */
function observeOutbox({ registry }: Metrics, senders: Senders, store: OutboxStore) {
  const counter = new Counter({
    name: 'auth_outbox_total',
    help: 'Attempts to send e-mails and logout tokens, by kind and result.',
    labelNames: ['kind', 'result'],
    registers: [registry],
  });
  // Prometheus sees the increase from 0 to 1.
  for (const kind of outboxKinds) for (const result of senders[kind].results) counter.inc({ kind, result }, 0);
  new Gauge({
    name: 'auth_outbox_oldest_seconds',
    help: 'Age of the oldest e-mail or logout token that was not sent yet; 0 if none waits.',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      for (const kind of outboxKinds) this.set({ kind }, 0);
      // If the database is unavailable, the gauge is 0, and Prometheus still gets all other metrics.
      for (const { kind, seconds } of await store.ages().catch(() => [])) this.set({ kind }, seconds);
    },
  });
  return (kind: OutboxKind, result: string): void => counter.inc({ kind, result });
}
