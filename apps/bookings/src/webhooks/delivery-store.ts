// Owns the table webhook_delivery: adds, claims, records and lists deliveries.
//
// An instance claims a delivery for an attempt by moving next_attempt_at to the end of a lease. If the instance is
// killed, the lease ends and any instance repeats the attempt.
import { offsetOf, type PageRequest, reconcileTotal } from '@bay-booking/common/page';
import { type Database, query } from '@bay-booking/service/database/database';
import { inTransaction } from '@bay-booking/service/database/transaction';
import { isoTimestamps } from '../bookings/storage/timestamps.ts';
import type { Delivery, DeliveryState, EventType } from './webhook.ts';

/** Milliseconds. An attempt takes 15 s at most. */
const leaseTime = 30_000;
const deleteBatch = 1_000;
/** Without a limit, a client could fill the table, and every ping to a failing receiver is tried ten times. */
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
   * Claims due deliveries of every webhook, each with its own limit, so that a slow receiver delays no other one. $1 is
   * now, $2 the end of the lease, $3 and $4 the attempts that this instance makes already, $5 the limit of a webhook,
   * $6 that of a failing webhook, $7 the limit of the instance, and $8 the oldest request of a client whose right has
   * not ended.
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

  /** A result counts only if no other instance has repeated the attempt meanwhile. */
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

  /** $1 are webhooks whose receiver returned 410, $2 the time before which a webhook must not have begun to fail. */
  disable: `with disabled as (
  update webhook set state = 'disabled' where state <> 'disabled' and (id = any($1) or failing_since <= $2) returning id
)
update webhook_delivery set state = 'failed', next_attempt_at = null
from disabled where webhook_id = disabled.id and state = 'pending'`,

  page: `select ${fields} ${ofList} order by created_at desc, id desc limit $3 offset $4`,
  count: `select count(*)::int as total ${ofList}`,
  deleteExpired: `delete from webhook_delivery where id in (
  select id from webhook_delivery where created_at <= $1 and state <> 'pending' limit $2) returning id`,
  /** $1 is the oldest request of a client whose right has not ended. */
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
  /** The number of attempts, with this one. */
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
    /** Adds nothing if many pings of the webhook wait already. */
    addPing: async (webhookId: string, id: string, body: string, now: Date): Promise<void> => {
      await query(db, statements.addPing, [webhookId, id, body, now.toISOString()]);
    },

    /** `running` has the number of attempts that this instance makes, by webhook. */
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

    /** Records results and disables webhooks that returned 410 or have been failing since `failingBefore`. */
    record: async (results: readonly AttemptResult[], failingBefore: Date): Promise<void> => {
      const gone = results.filter(({ status }) => status === 410).map(({ webhookId }) => webhookId);
      const hasFailures = results.some(({ state }) => state !== 'delivered');
      await inTransaction(db, async (run) => {
        await run([
          statements.record,
          [
            results.map(({ id }) => id),
            results.map(({ attempts }) => attempts),
            results.map(({ state }) => state),
            results.map(({ status }) => status),
            results.map(({ attemptedAt }) => attemptedAt.toISOString()),
            results.map(({ nextAttemptAt }) => nextAttemptAt?.toISOString() ?? null),
          ],
        ]);
        if (hasFailures) await run([statements.disable, [gone, failingBefore.toISOString()]]);
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

    /** The time at which the oldest delivery that an instance may attempt was or will be due. */
    oldestDue: async (leaseStart: Date): Promise<Date | undefined> => {
      const [row] = await query<{ dueSince: Date | null }>(db, statements.oldestDue, [leaseStart.toISOString()]);
      return row?.dueSince ?? undefined;
    },
  };
}

/** The statement that adds deliveries, for a transaction that also advances the cursor. */
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
