// Implements `npm run reset-factors -w apps/auth -- USERNAME`: removes the second factors of a person who has lost them
// and the recovery codes, ends the sessions of the account, and mails the person.
import {
  encryptionKeys,
  httpUrl,
  mandatory,
  optional,
  postgresUrl,
  readConfig,
  text,
} from '@bay-booking/service/config';
import { transaction } from '@bay-booking/service/database/database';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { withDatabase } from '@bay-booking/service/with-database';
import { createAccountStore } from '../accounts/store.ts';
import { storeEvents } from '../audit/store.ts';
import { resetFactors } from '../interaction/reset-factors.ts';
import { addEmail } from '../outbox/mailer.ts';

runCommand(async () => {
  const [username = ''] = commandArguments('reset-factors -w apps/auth -- USERNAME', { least: 1 });
  const { url, issuer, smtpUrl, ...secrets } = readConfig(process.env, {
    url: mandatory('DATABASE_URL', postgresUrl),
    // For the link in the e-mail.
    issuer: optional('ISSUER', httpUrl, 'http://localhost:4000'),
    smtpUrl: optional('SMTP_URL', text),
    encryptionKeys: mandatory('KEY_ENCRYPTION_KEY', encryptionKeys),
  });
  await withDatabase({ url, applicationName: 'auth reset-factors' }, async (db) => {
    const account = await createAccountStore({ db }).findByUsername(username);
    if (!account) throw new Error(`there is no account ${username}`);
    await transaction(db, async (tx) => {
      const email = await resetFactors(tx, account, issuer);
      await storeEvents(tx, [{ kind: 'factor.reset', accountId: account.id, detail: { operator: 'reset-factors' } }]);
      if (email && smtpUrl) await addEmail(tx, email, secrets.encryptionKeys);
      else if (email)
        createLogger({ service: 'auth', level: 'info' }).info({ mail: email }, 'e-mail is not sent: no SMTP_URL');
    });
    process.stdout.write(`removed the second factors of ${account.username}\n`);
  });
});
