// Implements `npm run delete-account -w apps/auth -- ID`: deletes an account like the page "Your account", for a person
// who cannot sign in, and to repeat deletions after a backup was restored.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { deleteAccount } from '../accounts/deletion-store.ts';
import { storeEvents } from '../audit/store.ts';

runCommand(async () => {
  const [id = ''] = commandArguments('delete-account -w apps/auth -- ID', { least: 1 });
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  await withDatabase({ url, applicationName: 'auth delete-account' }, async (db) => {
    const outcome = await deleteAccount(db, id);
    if (outcome === 'not-found') throw new Error(`there is no account ${id}`);
    if (outcome !== 'deleted')
      throw new Error(`the account is the last owner of ${outcome.facilities.map(({ name }) => name).join(', ')}`);
    await storeEvents(db, [{ kind: 'account.deleted', accountId: id, detail: { operator: 'delete-account' } }]);
    process.stdout.write(`deleted ${id}\n`);
  });
});
