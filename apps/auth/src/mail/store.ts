// Which mail waits to be sent? The SQL of the table `mail`: an outbox, so that a mail is as safe as the change that it tells of, and every
// instance can send it.
import { type Database, query } from '@bay-booking/service/database/database';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface WaitingMail extends Mail {
  readonly id: string;
  readonly tries: number;
}

export type MailStore = ReturnType<typeof createMailStore>;

export function createMailStore({ db }: { db: Database }) {
  return {
    /** False when the outbox holds `atMost` mails: then something is wrong, and more of it helps nobody. */
    async add(mail: Mail, atMost: number, on: Database = db): Promise<boolean> {
      const rows = await query(
        on,
        `insert into mail (recipient, subject, body_text, body_html)
         select $1, $2, $3, $4 where (select count(*) from (select 1 from mail limit $5) as waiting) < $5 returning id`,
        [mail.to, mail.subject, mail.text, mail.html, atMost],
      );
      return rows.length === 1;
    },

    /** Mail that is due, taken for `lease` seconds: an instance that dies meanwhile leaves it to the others. */
    take: (limit: number, lease: number): Promise<readonly WaitingMail[]> =>
      query<WaitingMail>(
        db,
        `update mail set tries = tries + 1, next_try_at = now() + make_interval(secs => $2)
          where id = any (array(select id from mail where next_try_at <= now() order by next_try_at, id limit $1
                                  for update skip locked))
         returning id::text, recipient as "to", subject, body_text as text, body_html as html, tries`,
        [limit, lease],
      ),

    async remove(id: string): Promise<void> {
      await query(db, 'delete from mail where id = $1', [id]);
    },

    async retryIn(id: string, seconds: number): Promise<void> {
      await query(db, 'update mail set next_try_at = now() + make_interval(secs => $2) where id = $1', [id, seconds]);
    },
  };
}
