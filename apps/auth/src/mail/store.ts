// Stores the outbox: the e-mails that wait to be sent (table `mail`).
import { type Database, type Queryable, query } from '@bay-booking/service/database/database';

export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The account whose data the e-mail contains. */
  readonly accountId?: string | undefined;
}

export interface QueuedEmail extends Email {
  readonly id: string;
  /** Includes the current attempt. */
  readonly tries: number;
}

export type MailStore = ReturnType<typeof createMailStore>;

export function createMailStore({ db }: { db: Database }) {
  return {
    /** Returns false if the outbox already contains `maxQueued` e-mails. */
    async add(email: Email, maxQueued: number, on: Queryable = db): Promise<boolean> {
      const rows = await query(
        on,
        `insert into mail (recipient, subject, body_text, body_html, account_id)
         select $1, $2, $3, $4, $6 where (select count(*) from (select 1 from mail limit $5) as queued) < $5 returning id`,
        [email.to, email.subject, email.text, email.html, maxQueued, email.accountId ?? null],
      );
      return rows.length === 1;
    },

    /** Leases e-mails that are due to this instance. After `seconds`, another instance can lease them again. */
    lease: (limit: number, seconds: number): Promise<readonly QueuedEmail[]> =>
      query<QueuedEmail>(
        db,
        `update mail set tries = tries + 1, next_try_at = now() + make_interval(secs => $2)
          where id = any (array(select id from mail where next_try_at <= now() order by next_try_at, id limit $1
                                  for update skip locked))
         returning id::text, recipient as "to", subject, body_text as text, body_html as html, tries`,
        [limit, seconds],
      ),

    /** Returns the age of the oldest e-mail, or 0 if the outbox is empty. */
    oldestSeconds: async (): Promise<number> => {
      const oldest = 'select extract(epoch from now() - min(created_at))::float8 as seconds from mail';
      return (await query<{ seconds: number | null }>(db, oldest))[0]?.seconds ?? 0;
    },

    async delete(id: string): Promise<void> {
      await query(db, 'delete from mail where id = $1', [id]);
    },

    async retryIn(id: string, seconds: number): Promise<void> {
      await query(db, 'update mail set next_try_at = now() + make_interval(secs => $2) where id = $1', [id, seconds]);
    },
  };
}
