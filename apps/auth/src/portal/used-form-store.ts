// Was this very form sent before? The SQL of used_form. Reloading a page that shows a secret sends its form again; that must neither make
// another secret nor show one.
import { type Database, query } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '../secrets.ts';

export type UsedForms = ReturnType<typeof createUsedForms>;

export function createUsedForms({ db }: { db: Database }) {
  return {
    newId: randomToken,

    /** Of several at once, one gets `true`. An account's id is part of it, so that nobody uses up another's forms. */
    async use(accountId: string, id: string): Promise<boolean> {
      const rows = await query(
        db,
        // No session, and so no form of it, lives longer than 30 days.
        `with old as (delete from used_form where id_sha256 = any (array(
                        select id_sha256 from used_form where used_at < now() - interval '31 days' order by used_at limit 100)))
         insert into used_form (id_sha256) values ($1) on conflict do nothing returning id_sha256`,
        [hashSecret(`${accountId}\n${id}`)],
      );
      return rows.length === 1;
    },

    /** What the form was to do has failed: it may be sent again. */
    async giveBack(accountId: string, id: string): Promise<void> {
      await query(db, 'delete from used_form where id_sha256 = $1', [hashSecret(`${accountId}\n${id}`)]);
    },
  };
}
