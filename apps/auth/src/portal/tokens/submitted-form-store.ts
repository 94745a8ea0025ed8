// Stores which forms were submitted (table `used_form`), so that a reloaded page does not create another secret.
import { type Database, query } from '@bay-booking/service/database/database';
import { hashSecret, randomToken } from '../../secrets.ts';

export type SubmittedForms = ReturnType<typeof createSubmittedForms>;

/** The account is part of the key, so that nobody can mark a form of another account as submitted. */
const keyOf = (accountId: string, formId: string): string => hashSecret(`${accountId}\n${formId}`);

export function createSubmittedForms({ db }: { db: Database }) {
  return {
    newId: randomToken,

    /** Of several calls at the same time, only one returns true. */
    async submit(accountId: string, formId: string): Promise<boolean> {
      const rows = await query(
        db,
        // A form is valid only in its session, which ends after at most 30 days.
        `with expired as (
           delete from used_form where id_sha256 = any (array(
             select id_sha256 from used_form where used_at < now() - interval '31 days' order by used_at limit 100)))
         insert into used_form (id_sha256) values ($1) on conflict do nothing returning id_sha256`,
        [keyOf(accountId, formId)],
      );
      return rows.length === 1;
    },

    /** Lets the user submit a form again whose action failed. */
    async release(accountId: string, formId: string): Promise<void> {
      await query(db, 'delete from used_form where id_sha256 = $1', [keyOf(accountId, formId)]);
    },
  };
}
