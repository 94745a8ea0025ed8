// Stores the e-mails and logout tokens that wait to be sent (table `outbox`).
import { type Database, jsonText, type Queryable, query, transaction } from '@bay-booking/service/database/database';

export const outboxKinds = ['mail', 'logout-token'] as const;
export type OutboxKind = (typeof outboxKinds)[number];

export interface OutboxEntry {
  readonly id: string;
  readonly kind: OutboxKind;
  /** Who receives the entry. The worker sends a limited number of entries to a target at the same time. */
  readonly target: string;
  /** The account whose data the entry contains. */
  readonly accountId: string | null;
  readonly recipientKey: string | null;
  readonly payload: object;
  /** Includes the current attempt. */
  readonly tries: number;
  readonly ageSeconds: number;
}

/**
 * The part of an SQL statement that queues logout tokens. It belongs to the statement that ends the sessions, so that
 * each token is queued exactly once. Needs the common table expression `ended` with `account_id` and `payload` of the
 * ended sessions. A client that has no grant has seen only our sign-in page. If a client uses no `sid`, `distinct`
 * leaves one token for all sessions.
 */
export const queueLogoutTokens = `
  insert into outbox (kind, target, account_id, payload)
  select distinct 'logout-token', c.id, e.account_id, jsonb_build_object('sid',
         case when c.metadata -> 'backchannel_logout_session_required' = 'true' then a.value ->> 'sid' end)
    from ended e
   cross join jsonb_each(coalesce(nullif(e.payload -> 'authorizations', 'null'), '{}')) a
    join client c on c.id = a.key
   where c.metadata ->> 'backchannel_logout_uri' is not null and a.value ->> 'grantId' is not null`;

interface NewEmail {
  /** The account whose data the e-mail contains. */
  readonly accountId?: string | null | undefined;
  readonly recipientKey: string;
  readonly payload: object;
}

/** Returns false if the outbox already contains `maxQueued` e-mails. */
export async function addEmailToOutbox(
  on: Queryable,
  { accountId = null, recipientKey, payload }: NewEmail,
  maxQueued: number,
): Promise<boolean> {
  const rows = await query(
    on,
    `insert into outbox (kind, target, account_id, recipient_key, payload)
     select 'mail', 'mail server', $1, $2, $3::jsonb
      where (select count(*) from (select 1 from outbox where kind = 'mail' limit $4) as queued) < $4 returning id`,
    [accountId, recipientKey, JSON.stringify(payload), maxQueued],
  );
  return rows.length === 1;
}

type StoredEmail = Pick<OutboxEntry, 'id' | 'recipientKey' | 'payload'>;

/** Changes the stored e-mails in batches. Each `rewrite` must be quick. */
export async function rewriteEmails(db: Database, rewrite: (email: StoredEmail) => object): Promise<void> {
  for (let last: string | undefined = '0'; last !== undefined; ) {
    const after: string = last;
    last = await transaction(db, async (tx) => {
      const emails = await query<StoredEmail>(
        tx,
        `select id::text, recipient_key as "recipientKey", payload from outbox
          where kind = 'mail' and id > $1 order by id limit 500 for update`,
        [after],
      );
      await query(
        tx,
        `update outbox o set payload = n.payload from jsonb_to_recordset($1::jsonb) as n (id bigint, payload jsonb)
          where o.id = n.id`,
        [jsonText(emails.map((email) => ({ id: email.id, payload: rewrite(email) })))],
      );
      return emails.at(-1)?.id;
    });
  }
}

interface LeaseOptions {
  readonly kinds: readonly OutboxKind[];
  readonly limit: number;
  readonly maxPerTarget: number;
  /** Targets that have enough entries in progress. */
  readonly except: readonly string[];
  /** Afterwards, another instance can lease the entries again. */
  readonly seconds: number;
}

export type OutboxStore = ReturnType<typeof createOutboxStore>;

export function createOutboxStore(db: Database) {
  return {
    /** The order by `position` takes one entry of each target before the second entry of any target. */
    lease: ({ kinds, limit, maxPerTarget, except, seconds }: LeaseOptions): Promise<readonly OutboxEntry[]> =>
      query<OutboxEntry>(
        db,
        `with numbered as (
           select e.id, e.position
             from (select distinct kind, target from outbox where kind = any ($1) and target <> all ($4)) t
            cross join lateral (
                  select id, row_number() over (order by next_try_at, id) as position from outbox
                   where kind = t.kind and target = t.target and next_try_at <= now()
                   order by next_try_at, id limit $3) e),
         due as (
           select o.id from outbox o join numbered n on n.id = o.id where o.next_try_at <= now()
            order by n.position, o.id limit $2 for update of o skip locked)
         update outbox o set tries = tries + 1, next_try_at = now() + make_interval(secs => $5)
           from due d where o.id = d.id
         returning o.id::text, kind, target, account_id as "accountId",
                   recipient_key as "recipientKey", payload, tries,
                   extract(epoch from now() - created_at)::float8 as "ageSeconds"`,
        [kinds, limit, maxPerTarget, except, seconds],
      ),

    /** Returns false if the entry was already deleted. */
    delete: async (id: string): Promise<boolean> =>
      (await query(db, 'delete from outbox where id = $1 returning id', [id])).length > 0,

    async retryIn(id: string, seconds: number): Promise<void> {
      await query(db, 'update outbox set next_try_at = now() + make_interval(secs => $2) where id = $1', [id, seconds]);
    },

    /** Returns the age of the oldest entry of each kind. A kind without entries is left out. */
    ages: () =>
      query<{ kind: OutboxKind; seconds: number }>(
        db,
        'select kind, extract(epoch from now() - min(created_at))::float8 as seconds from outbox group by kind',
      ),
  };
}
