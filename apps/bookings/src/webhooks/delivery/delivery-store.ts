// Reads and writes the table webhook_delivery: adds, leases, lists and deletes deliveries, and records their results.
// resend-store.ts and `isBelowMaximum` (cursor-store.ts) use the table too.
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
import { isDisabledFacility } from '../disabled-store.ts';
import type { DeliveryState, WebhookDelivery } from '../webhook.ts';

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

/**
 * The maximum number of pings of a webhook that wait for their delivery. A ping to a failing receiver is attempted ten
 * times, and waits between the attempts. Otherwise a client could fill the table with waiting pings.
 */
const maxWaitingPings = 100;

/** The disabled facilities of a webhook. */
const disabledFacilities = `array(
  select facility_id from unnest(facility_ids) as facility (facility_id) where ${isDisabledFacility('facility_id')})`;

const fail = "state = 'failed', next_attempt_at = null, body = null";

/** The maximum number of deliveries that one statement ends. */
const failBatch = 5_000;

/**
 * Ends some of the pending deliveries that fulfil the condition. There may be more than a statement can end in its
 * time. The worker does not attempt the others, which `failDropped` ends.
 */
export const failSome = (from: string, condition: string): string => `update webhook_delivery set ${fail}
where id in (
  select delivery.id from webhook_delivery delivery${from} where delivery.state = 'pending' and ${condition}
  limit ${failBatch})`;

/** A condition for the deliveries of webhook $1 for the facilities $2, and its pings if $3. */
export const ofFacilities =
  'webhook_id = $1 and (facility_id = any($2::text[]) or (facility_id is null and $3::boolean))';

/** The deliveries of `ofFacilities` that are in state $4. If $4 is null, all of them. */
const pageOfDeliveries = {
  // `modified` is a change number. It is converted to float8, because pg returns a bigint as a string.
  columns: `id, type, facility_id as "facilityId", booking_id as "bookingId", modified::float8 as modified, state, attempts,
last_status as "lastStatus", last_error as "lastError", last_attempt_at as "lastAttemptAt", next_attempt_at as "nextAttemptAt"`,
  from: `from webhook_delivery where ${ofFacilities} and ($4::text is null or state = $4)`,
  orderBy: 'created_at desc, id desc',
};

const deliveryStatements = {
  /** Adds deliveries of webhook $1. $2 is their JSON, and $3 the current time. */
  add: `insert into webhook_delivery (id, webhook_id, type, facility_id, booking_id, modified, body, next_attempt_at,
  created_at)
select id, $1, type, "facilityId", "bookingId", modified, body, $3, $3
from jsonb_to_recordset($2::jsonb)
  as added (id uuid, type text, "facilityId" text, "bookingId" uuid, modified bigint, body text)`,

  /** $1: webhook, $2: id, $3: body, $4: the current time. */
  addPing: `insert into webhook_delivery (id, webhook_id, type, body, next_attempt_at, created_at)
select $2, $1, 'webhook.ping', $3, $4, $4
where (select count(*) from (
    select from webhook_delivery where webhook_id = $1 and type = 'webhook.ping' and state = 'pending'
    limit ${maxWaitingPings}
  ) waiting) < ${maxWaitingPings}`,

  /**
   * Leases due deliveries. Each webhook has its own limit, so that a slow receiver does not delay the deliveries of
   * other webhooks. The owners get their attempts in turn, and each owner makes at most as many attempts at the same
   * time as remain free for others. A webhook that is not active gets only pings, and an active one no
   * events of disabled facilities. The parameters are:
   * - $1: the current time
   * - $2: the end of the lease. A delivery without a result is then due again.
   * - $3 and $4: the webhooks that this instance makes attempts for now, and the number of these attempts
   * - $5: the maximum number of attempts of a webhook at the same time
   * - $6: the maximum for a webhook whose attempts fail
   * - $7: the number of attempts that this instance can still begin
   */
  lease: `with receiver as (
  select id, owner, state, failing_since, facility_ids, coalesce(attempts, 0) as running,
    sum(coalesce(attempts, 0)) over (partition by owner) as running_of_owner,
    ${disabledFacilities} as disabled_facilities
  from webhook left join unnest($3::uuid[], $4::int[]) as running (webhook_id, attempts) on webhook_id = id
), due as (
  select delivery.id, running_of_owner + row_number() over (
    partition by owner order by failing_since nulls first, next_attempt_at) as turn
  from receiver cross join lateral (
    select id, next_attempt_at from webhook_delivery
    where webhook_id = receiver.id and state = 'pending' and next_attempt_at <= $1::timestamptz
      and (type = 'webhook.ping' or (receiver.state = 'active'
        and facility_id = any(facility_ids) and facility_id <> all(disabled_facilities)))
    order by next_attempt_at
    limit greatest(0, least(case when failing_since is null then $5::int else $6::int end - running,
      $7::int - running_of_owner))
    for update skip locked
  ) delivery
), chosen as (
  select id, turn + row_number() over (order by turn) <= $7::int as leaves_enough from due
)
update webhook_delivery set next_attempt_at = $2 from chosen, webhook
where webhook_delivery.id = chosen.id and leaves_enough and webhook.id = webhook_id
returning webhook_delivery.id, webhook_id as "webhookId", body, attempts, url, secret,
  case when previous_secret_until > $1::timestamptz then previous_secret end as "previousSecret"`,

  /** Must run before `record` and `disable` in the same transaction. The order of the ids prevents deadlocks. */
  lockWebhooks: 'select id from webhook where id = any($1::uuid[]) order by id for no key update',

  /**
   * Records the results of attempts, whose JSON is $1, and since when each webhook has been failing. Ignores a result
   * if another instance has repeated the attempt in the meantime. A webhook is updated only if it begins or stops
   * failing, or if its last success is a minute old.
   */
  record: `with recorded as (
  update webhook_delivery delivery set state = result.state, attempts = result.attempts, last_status = result.status,
    last_error = result.error, last_attempt_at = "attemptedAt", next_attempt_at = "nextAttemptAt",
    body = case when result.state = 'pending' then body end
  from jsonb_to_recordset($1::jsonb) as result (id uuid, attempts int, state text, status int, error text,
    "attemptedAt" timestamptz, "nextAttemptAt" timestamptz)
  where delivery.id = result.id and delivery.state = 'pending' and delivery.attempts = result.attempts - 1
  returning delivery.webhook_id, delivery.state, "attemptedAt" as attempted_at
), health as (
  select webhook_id, bool_or(state = 'delivered') as has_success, min(attempted_at) as attempted_at,
    max(attempted_at) filter (where state = 'delivered') as succeeded_at
  from recorded group by webhook_id
)
update webhook set failing_since = case when not has_success then coalesce(failing_since, attempted_at) end,
  last_success_at = greatest(last_success_at, succeeded_at)
from health where webhook.id = webhook_id and ((failing_since is null) <> has_success
  or succeeded_at > coalesce(last_success_at, '-infinity') + interval '1 minute')`,

  /**
   * Disables some of the webhooks $1: those that are also in $2, and those whose attempts have been failing since $3 or
   * an earlier time. Ends the pending deliveries of the disabled webhooks.
   */
  disable: `with disabled as (
  update webhook set state = 'disabled'
  where id = any($1::uuid[]) and state <> 'disabled' and (id = any($2::uuid[]) or failing_since <= $3) returning id
)
${failSome('', 'webhook_id in (select id from disabled)')}`,

  /** Ends the pending deliveries of webhook $1 for facilities that are not in $2. */
  failOthers: failSome('', 'webhook_id = $1 and facility_id <> all($2::text[])'),

  failDropped: `${failSome(
    ' join webhook on webhook.id = webhook_id',
    "delivery.facility_id is not null and (webhook.state = 'disabled' or delivery.facility_id <> all(facility_ids))",
  )} returning id`,

  /** Finds the webhook of the deliveries with the next id after $1. */
  findNextWebhook: `select webhook_id as id, exists (select from webhook where webhook.id = webhook_id) as "isKnown"
from webhook_delivery where webhook_id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000') order by webhook_id limit 1`,
  deleteOfWebhook: `delete from webhook_delivery where id in (
  select id from webhook_delivery where webhook_id = $1 limit $2) returning id`,

  deleteExpired: `delete from webhook_delivery where id in (
  select id from webhook_delivery where created_at <= $1 and state <> 'pending' limit $2) returning id`,
  oldestDue: `select min(next_attempt_at) as "dueSince" from webhook join webhook_delivery on webhook_id = webhook.id
where webhook.state = 'active' and webhook_delivery.state = 'pending'
  and (facility_id is null or facility_id = any(facility_ids) and facility_id <> all(${disabledFacilities}))`,
} as const;

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
