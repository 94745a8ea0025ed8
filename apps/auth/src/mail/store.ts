// Stores the outbox: the e-mails that wait to be sent (table `mail`).
//
// The outbox is in the database, so that no e-mail is lost when an instance stops, and so that every instance can send
// every e-mail.
import { type Database, query } from '@bay-booking/service/database/database';

export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface QueuedEmail extends Email {
  readonly id: string;
  /** The number of attempts to send the e-mail, including the current one. */
  readonly tries: number;
}

export type MailStore = ReturnType<typeof createMailStore>;

export function createMailStore({ db }: { db: Database }) {
  return {
    /**
     * Adds an e-mail. Returns false if the outbox already contains `maxQueued` e-mails. The inner query of the
     * statement stops counting at this limit, because counting a longer outbox would be slow.
     */
    async add(email: Email, maxQueued: number): Promise<boolean> {
      const rows = await query(
        db,
        `insert into mail (recipient, subject, body_text, body_html)
         select $1, $2, $3, $4 where (select count(*) from (select 1 from mail limit $5) as queued) < $5 returning id`,
        [email.to, email.subject, email.text, email.html, maxQueued],
      );
      return rows.length === 1;
    },

    /**
     * Returns up to `limit` e-mails that must be sent now, and leases them to this instance for `seconds`. If the
     * instance stops before it has sent an e-mail, another instance sends the e-mail after the lease has ended. The end
     * of the lease is stored in `next_try_at`.
     */
    lease: (limit: number, seconds: number): Promise<readonly QueuedEmail[]> =>
      query<QueuedEmail>(
        db,
        `update mail set tries = tries + 1, next_try_at = now() + make_interval(secs => $2)
          where id = any (array(select id from mail where next_try_at <= now() order by next_try_at, id limit $1
                                  for update skip locked))
         returning id::text, recipient as "to", subject, body_text as text, body_html as html, tries`,
        [limit, seconds],
      ),

    async delete(id: string): Promise<void> {
      await query(db, 'delete from mail where id = $1', [id]);
    },

    async retryIn(id: string, seconds: number): Promise<void> {
      await query(db, 'update mail set next_try_at = now() + make_interval(secs => $2) where id = $1', [id, seconds]);
    },
  };
}
