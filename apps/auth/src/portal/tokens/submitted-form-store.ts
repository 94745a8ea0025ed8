// Stores which forms were submitted (table `used_form`), so that a reloaded page does not create another secret.
import { type Database, query } from '@bay-booking/service/database/database';
import { hashSecret } from '@bay-booking/service/secret-box';

export function createSubmittedForms({ db }: { db: Database }) {
  return {
    /**
     * Runs `action`, unless the form was submitted before (of several calls at the same time, only one runs it). If the
     * action fails or returns an error, the user can submit the form again.
     */
    async once<T extends object>(
      accountId: string,
      formId: string,
      action: () => Promise<T>,
    ): Promise<T | { readonly error: 'form-already-submitted' }> {
      // The account is part of the key, so that nobody can mark a form of another account as submitted.
      const key = hashSecret(`${accountId}\n${formId}`);
      const release = () => query(db, 'delete from used_form where id_sha256 = $1', [key]);
      const inserted = await query(
        db,
        'insert into used_form (id_sha256) values ($1) on conflict do nothing returning id_sha256',
        [key],
      );
      if (inserted.length === 0) return { error: 'form-already-submitted' };
      try {
        const result = await action();
        if ('error' in result) await release();
        return result;
      } catch (error) {
        // The caller must get this error, even if the release of the form fails too.
        await release().catch(() => {});
        throw error;
      }
    },
  };
}
