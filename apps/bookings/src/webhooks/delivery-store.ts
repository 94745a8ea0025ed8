// Reads and writes the table webhook_delivery: adds, claims, lists and deletes deliveries, and records their results.
//
// Before an instance attempts a delivery, it claims the delivery by setting next_attempt_at to the end of a lease. If
// the instance is killed, the lease ends and another instance repeats the attempt.
//
// Every transaction locks the webhook before its cursors and deliveries, so that no deadlock is possible, for example
// with the deletion of a webhook.
import { offsetOf, type PageRequest, reconcileTotal } from '@bay-booking/common/page';
import { type Database, query } from '@bay-booking/service/database/database';
import { inTransaction } from '@bay-booking/service/database/transaction';
import { isoTimestamps } from '../bookings/storage/timestamps.ts';
import type { Delivery, DeliveryState, EventType } from './webhook.ts';

/** How long a claimed delivery is not claimed again, in milliseconds. An attempt takes 15 s at most. */
const leaseTime = 30_000;
const deleteBatch = 1_000;
/**
 * The maximum number of pings of a webhook that wait for their delivery. Without a limit, a client could fill the
 * table, because every ping to a failing receiver is attempted ten times.
 */
const maxWaitingPings = 100;

const fields = `id, type, facility_id as "facilityId", modified::float8 as modified, state, attempts,
last_status as "lastStatus", last_attempt_at as "lastAttemptAt", next_attempt_at as "nextAttemptAt"`;
const ofList = 'from webhook_delivery where webhook_id = $1 and ($2::text is null or state = $2)';

const statements = {
  add: `insert into webhook_delivery (id, webhook_id, type, facility_id, modified, body, next_attempt_at, created_at)
select id, $1, type, facility_id, modified, body, $7, $7
from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::text[])
  as added (id, type, facility_id, modified, body)`,

  addPing: `insert into webhook_delivery (id, webhook_id, type, body, next_attempt_at, created_at)
select $2, $1, 'webhook.ping', $3, $4, $4
where (select count(*) from (
    select from webhook_delivery where webhook_id = $1 and type = 'webhook.ping' and state = 'pending'
    limit ${maxWaitingPings}
  ) waiting) < ${maxWaitingPings}`,

  /**
   * Claims due deliveries. Each webhook has its own limit, so that a slow receiver does not delay the deliveries of
   * other webhooks. The parameters are:
   * - $1: the current time
   * - $2: the end of the lease
   * - $3 and $4: the webhooks for which this instance makes attempts, and the number of attempts of each
   * - $5: the maximum number of attempts of a webhook at the same time
   * - $6: the maximum for a webhook whose attempts fail
   * - $7: the maximum for this instance
   * - $8: the client must have sent a request after this time (see lease.ts)
   */
  claim: `with due as (
  select due.id from webhook
  left join unnest($3::uuid[], $4::int[]) as running (webhook_id, attempts) on running.webhook_id = webhook.id
  cross join lateral (
    select id from webhook_delivery
    where webhook_id = webhook.id and state = 'pending' and next_attempt_at <= $1::timestamptz
      and (type = 'webhook.ping' or webhook.state = 'active')
      and (facility_id is null or exists (
        select from webhook_cursor where webhook_cursor.webhook_id = webhook.id
          and webhook_cursor.facility_id = webhook_delivery.facility_id and seen_at > $8::timestamptz))
    order by next_attempt_at
    limit greatest(0, case when failing_since is null then $5::int else $6::int end - coalesce(running.attempts, 0))
    for update skip locked
  ) due
  order by failing_since nulls first
  limit $7
)
update webhook_delivery set next_attempt_at = $2 from due, webhook
where webhook_delivery.id = due.id and webhook.id = webhook_id
returning webhook_delivery.id, webhook_id as "webhookId", body, attempts, url, secret,
  case when previous_secret_until > $1::timestamptz then previous_secret end as "previousSecret"`,

  lockWebhooks: 'select id from webhook where id = any($1::uuid[]) order by id for no key update',

  /** Records the results of attempts. Ignores a result if another instance has repeated the attempt in the meantime. */
  record: `with result as (
  select * from unnest($1::uuid[], $2::int[], $3::text[], $4::int[], $5::timestamptz[], $6::timestamptz[])
    as result (id, attempts, state, status, attempted_at, next_at)
), recorded as (
  update webhook_delivery delivery set state = result.state, attempts = result.attempts, last_status = result.status,
    last_attempt_at = result.attempted_at, next_attempt_at = result.next_at
  from result where delivery.id = result.id and delivery.state = 'pending' and delivery.attempts = result.attempts - 1
  returning delivery.webhook_id, delivery.state, result.attempted_at
), health as (
  select webhook_id, bool_or(state = 'delivered') as has_success, min(attempted_at) as attempted_at
  from recorded group by webhook_id
)
update webhook set failing_since = case when not has_success then coalesce(failing_since, attempted_at) end
from health where webhook.id = webhook_id and (failing_since is null) <> has_success`,

  /**
   * Disables a webhook of $1 if its receiver returned 410, or if it has been failing since $3. The receivers of the
   * webhooks $2 returned 410.
   */
  disable: `with disabled as (
  update webhook set state = 'disabled'
  where id = any($1::uuid[]) and state <> 'disabled' and (id = any($2::uuid[]) or failing_since <= $3) returning id
)
update webhook_delivery set state = 'failed', next_attempt_at = null
from disabled where webhook_id = disabled.id and state = 'pending'`,

  page: `select ${fields} ${ofList} order by created_at desc, id desc limit $3 offset $4`,
  count: `select count(*)::int as total ${ofList}`,
  deleteExpired: `delete from webhook_delivery where id in (
  select id from webhook_delivery where created_at <= $1 and state <> 'pending' limit $2) returning id`,
  /** Considers only webhooks whose client has sent a request after $1 (see lease.ts). */
  oldestDue: `select min(next_attempt_at) as "dueSince" from webhook join webhook_delivery on webhook_id = webhook.id
where webhook.state = 'active' and webhook_delivery.state = 'pending'
  and (facility_id is null or exists (
    select from webhook_cursor where webhook_cursor.webhook_id = webhook.id
      and webhook_cursor.facility_id = webhook_delivery.facility_id and seen_at > $1::timestamptz))`,
} as const;

export interface NewDelivery {
  readonly id: string;
  readonly type: EventType;
  readonly facilityId: string | null;
  readonly modified: number | null;
  readonly body: string;
}

export interface ClaimedDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly body: string;
  /** The number of earlier attempts. */
  readonly attempts: number;
  readonly url: string;
  readonly secret: string;
  readonly previousSecret: string | null;
}

export interface ClaimLimits {
  readonly perWebhook: number;
  readonly perFailingWebhook: number;
  readonly total: number;
}

export interface AttemptResult {
  readonly id: string;
  readonly webhookId: string;
  /** The number of attempts, including this one. */
  readonly attempts: number;
  readonly state: DeliveryState;
  /** Null if there was no response. */
  readonly status: number | null;
  readonly attemptedAt: Date;
  readonly nextAttemptAt: Date | undefined;
}

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

export function createDeliveryStore(db: Database) {
  return {
    /** Adds a ping, unless the maximum number of pings of the webhook waits already. */
    addPing: async (webhookId: string, id: string, body: string, now: Date): Promise<void> => {
      await query(db, statements.addPing, [webhookId, id, body, now.toISOString()]);
    },

    /** Claims due deliveries. `running` is the number of attempts that this instance makes now, by webhook. */
    claim: (running: ReadonlyMap<string, number>, limits: ClaimLimits, leaseStart: Date, now: Date) =>
      query<ClaimedDelivery>(db, statements.claim, [
        now.toISOString(),
        new Date(now.getTime() + leaseTime).toISOString(),
        [...running.keys()],
        [...running.values()],
        limits.perWebhook,
        limits.perFailingWebhook,
        limits.total,
        leaseStart.toISOString(),
      ]),

    /** Records results, and disables webhooks that returned 410 or have been failing since `failingBefore`. */
    record: async (results: readonly AttemptResult[], failingBefore: Date): Promise<void> => {
      const gone = results.filter(({ status }) => status === 410).map(({ webhookId }) => webhookId);
      const webhookIds = [...new Set(results.map(({ webhookId }) => webhookId))];
      const hasFailures = results.some(({ state }) => state !== 'delivered');
      await inTransaction(db, async (run) => {
        await run(
          [statements.lockWebhooks, [webhookIds]],
          [
            statements.record,
            [
              results.map(({ id }) => id),
              results.map(({ attempts }) => attempts),
              results.map(({ state }) => state),
              results.map(({ status }) => status),
              results.map(({ attemptedAt }) => attemptedAt.toISOString()),
              results.map(({ nextAttemptAt }) => nextAttemptAt?.toISOString() ?? null),
            ],
          ],
        );
        if (hasFailures) await run([statements.disable, [webhookIds, gone, failingBefore.toISOString()]]);
      });
    },

    list: async (webhookId: string, state: DeliveryState | undefined, page: PageRequest) => {
      const values = [webhookId, state ?? null];
      const offset = offsetOf(page);
      const rows = await query<Delivery>(db, statements.page, [...values, page.pageSize, offset], isoTimestamps);
      const [count] = await query<{ total: number }>(db, statements.count, values);
      return { rows, total: reconcileTotal(rows.length, offset, count?.total ?? 0) };
    },

    /** Deletes deliveries that ended and were added before `before`, in batches. */
    deleteExpired: async (before: Date): Promise<void> => {
      for (;;) {
        const deleted = await query(db, statements.deleteExpired, [before.toISOString(), deleteBatch]);
        if (deleted.length < deleteBatch) return;
      }
    },

    /** Returns when the oldest pending delivery that instances are allowed to attempt was due or will be due. */
    oldestDue: async (leaseStart: Date): Promise<Date | undefined> => {
      const [row] = await query<{ dueSince: Date | null }>(db, statements.oldestDue, [leaseStart.toISOString()]);
      return row?.dueSince ?? undefined;
    },
  };
}

/** Builds the statement that adds deliveries, for a transaction that also advances the cursor. */
export function addStatement(
  webhookId: string,
  deliveries: readonly NewDelivery[],
  now: Date,
): [sql: string, values: readonly unknown[]] {
  const values = [
    webhookId,
    deliveries.map(({ id }) => id),
    deliveries.map(({ type }) => type),
    deliveries.map(({ facilityId }) => facilityId),
    deliveries.map(({ modified }) => modified),
    deliveries.map(({ body }) => body),
    now.toISOString(),
  ];
  return [statements.add, values];
}
