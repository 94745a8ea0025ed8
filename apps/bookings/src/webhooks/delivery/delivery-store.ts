// Reads and writes the table webhook_delivery: adds, leases, lists and deletes deliveries, and records their results.
//
// Before an instance attempts a delivery, it leases the delivery: it sets next_attempt_at to a time after the attempt.
// If the instance is killed, another instance repeats the attempt at this time.
//
// A transaction that locks a webhook, and also its deliveries or its cursors (cursor-store.ts), locks the webhook
// first. The deletion of a webhook uses the same order, so these transactions cannot get into a deadlock.
import type { PageRequest } from '@bay-booking/common/page';
import {
  type Database,
  query,
  queryOne,
  send,
  type Transaction,
  transaction,
} from '@bay-booking/service/database/database';
import { queryPage } from '@bay-booking/service/page-statements';
import type { DeliveryState, WebhookDelivery } from '../webhook.ts';
import { deliveryStatements, failBatch, pageOfDeliveries } from './delivery-statements.ts';

/** How long only the instance that has leased a delivery may attempt it. An attempt takes 15 s at most. */
const leaseMilliseconds = 30_000;
/** The maximum number of deliveries that one statement deletes. */
const deleteBatch = 1_000;

export interface NewDelivery extends Pick<WebhookDelivery, 'id' | 'type' | 'facilityId' | 'bookingId' | 'modified'> {
  readonly body: string;
}

/** Selects the deliveries of a webhook for these facilities and its pings. */
export interface DeliveryFilter {
  readonly webhookId: string;
  readonly facilityIds: readonly string[];
  readonly hasPings: boolean;
}

export interface LeasedDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly body: string;
  /** The number of earlier attempts. */
  readonly attempts: number;
  readonly url: string;
  readonly secret: string;
  /** Null, unless the secret was replaced a short time ago. The previous secret then also signs the delivery. */
  readonly previousSecret: string | null;
}

/** The maximum numbers of concurrent attempts. */
export interface LeaseLimits {
  readonly perWebhook: number;
  readonly perFailingWebhook: number;
  /** Of this instance: how many more attempts it can begin. */
  readonly remaining: number;
}

export interface AttemptResult {
  readonly id: string;
  readonly webhookId: string;
  /** The number of attempts, including this one. */
  readonly attempts: number;
  readonly state: DeliveryState;
  /** Null if there was no response. */
  readonly status: number | null;
  /** Why there was no response. Null if there was one. */
  readonly error: string | null;
  readonly attemptedAt: Date;
  /** When the delivery is attempted again. Undefined after the last attempt. */
  readonly nextAttemptAt: Date | undefined;
}

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

export function createDeliveryStore(db: Database) {
  /** Runs a statement until it returns fewer rows than `batch`. */
  const repeat = async (statement: string, values: readonly unknown[], batch: number): Promise<void> => {
    while ((await query(db, statement, values)).length === batch);
  };
  const findWebhook = (after: string | null) =>
    queryOne<{ id: string; isKnown: boolean }>(db, deliveryStatements.findNextWebhook, [after]);

  return {
    /** Adds a ping, unless too many pings of the webhook are already waiting. */
    addPing: async (webhookId: string, id: string, body: string, now: Date): Promise<void> => {
      await query(db, deliveryStatements.addPing, [webhookId, id, body, now.toISOString()]);
    },

    /** `running` maps the id of each webhook to the number of its attempts that are in progress in this instance. */
    lease: (running: ReadonlyMap<string, number>, limits: LeaseLimits, now: Date) =>
      query<LeasedDelivery>(db, deliveryStatements.lease, [
        now.toISOString(),
        new Date(now.getTime() + leaseMilliseconds).toISOString(),
        [...running.keys()],
        [...running.values()],
        limits.perWebhook,
        limits.perFailingWebhook,
        limits.remaining,
      ]),

    /**
     * Records results. Disables webhooks whose receiver returned 410, and webhooks that have been failing since
     * `failingBefore` or an earlier time.
     */
    record: async (results: readonly AttemptResult[], failingBefore: Date): Promise<void> => {
      const goneWebhookIds = results.filter(({ status }) => status === 410).map(({ webhookId }) => webhookId);
      const webhookIds = [...new Set(results.map(({ webhookId }) => webhookId))];
      const hasFailures = results.some(({ state }) => state !== 'delivered');
      await transaction(db, async (tx) => {
        send(tx, deliveryStatements.lockWebhooks, [webhookIds]);
        send(tx, deliveryStatements.record, [JSON.stringify(results)]);
        if (hasFailures)
          send(tx, deliveryStatements.disable, [webhookIds, goneWebhookIds, failingBefore.toISOString()]);
      });
    },

    /**
     * Reads a page of the deliveries of a webhook. If `state` is undefined, the page contains deliveries in any state.
     */
    list: ({ webhookId, facilityIds, hasPings }: DeliveryFilter, state: DeliveryState | undefined, page: PageRequest) =>
      queryPage<WebhookDelivery>(db, pageOfDeliveries, [webhookId, facilityIds, hasPings, state ?? null], page),

    /** In batches, ends deliveries that are no longer sent, and deletes those that ended before `before`. */
    deleteExpired: async (before: Date): Promise<void> => {
      await repeat(deliveryStatements.failDropped, [], failBatch);
      await repeat(deliveryStatements.deleteExpired, [before.toISOString(), deleteBatch], deleteBatch);
      let next = await findWebhook(null);
      for (; next; next = await findWebhook(next.id))
        if (!next.isKnown) await repeat(deliveryStatements.deleteOfWebhook, [next.id, deleteBatch], deleteBatch);
    },

    /** Returns when the earliest pending delivery of the active webhooks was due, or will be. */
    oldestDue: async (): Promise<Date | undefined> => {
      const row = await queryOne<{ dueSince: string | null }>(db, deliveryStatements.oldestDue);
      return row?.dueSince ? new Date(row.dueSince) : undefined;
    },
  };
}

/**
 * Adds deliveries in the transaction that also moves the webhook's position in the change feed (cursor-store.ts).
 */
export function addDeliveries(tx: Transaction, webhookId: string, deliveries: readonly NewDelivery[], now: Date): void {
  send(tx, deliveryStatements.add, [webhookId, JSON.stringify(deliveries), now.toISOString()]);
}

/** Ends the pending deliveries of all other facilities. */
export function failDeliveries(tx: Transaction, webhookId: string, facilityIds: readonly string[]): void {
  send(tx, deliveryStatements.failOthers, [webhookId, facilityIds]);
}

const rewriteStatements = {
  /** Waits until the feeder has added the deliveries of changes that it read before (see cursor-store.ts). */
  lockWebhooks: `select id from webhook
where id in (select webhook_id from webhook_cursor where facility_id = any($1)) order by id for update`,
  find: `select id, body from webhook_delivery
where state = 'pending' and facility_id = any($1) and body::jsonb #>> '{data,booking,id}' = any($2::text[])`,
  update: 'update webhook_delivery set body = $2 where id = $1',
};

/**
 * Rewrites the bodies of the pending deliveries of these bookings. Other deliveries have no body. The
 * facilities are those where the bookings are or were.
 */
export async function rewriteBodies(
  tx: Transaction,
  facilities: readonly string[],
  bookingIds: readonly string[],
  rewrite: (body: string) => string,
): Promise<void> {
  await query(tx, rewriteStatements.lockWebhooks, [facilities]);
  const deliveries = await query<{ id: string; body: string }>(tx, rewriteStatements.find, [facilities, bookingIds]);
  for (const { id, body } of deliveries) send(tx, rewriteStatements.update, [id, rewrite(body)]);
}
