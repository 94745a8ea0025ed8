// Implements `npm run keys -w apps/auth`: lists, rotates, removes and re-encrypts the keys that sign tokens.
//
// Running instances read the keys again every few seconds and need no restart. `reencrypt` encrypts the keys, the
// secrets of authenticator apps and the e-mails that wait with the first key of KEY_ENCRYPTION_KEY, or with
// NEW_KEY_ENCRYPTION_KEY (docs/behaviour-auth.md, "Signing keys").
import {
  encryptionKey,
  encryptionKeys,
  mandatory,
  optional,
  postgresUrl,
  readConfig,
} from '@bay-booking/service/config';
import { runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { storeEvents } from '../audit/store.ts';
import { createFactorStore } from '../factors/store.ts';
import { reencryptEmails } from '../outbox/mailer.ts';
import { createKeyStore, keyPublishDelaySeconds } from '../signing-keys/store.ts';

const usage = 'usage: npm run keys -w apps/auth -- rotate [--now] | list | remove KID | reencrypt';

runCommand(async () => {
  const given = process.argv.slice(2);
  const [command, argument = ''] = given;
  if (!/^(rotate( --now)?|list|remove \S+|reencrypt)$/.test(given.join(' '))) throw new Error(usage);
  const config = readConfig(process.env, {
    databaseUrl: mandatory('DATABASE_URL', postgresUrl),
    encryptionKeys: mandatory('KEY_ENCRYPTION_KEY', encryptionKeys),
    newKey: optional('NEW_KEY_ENCRYPTION_KEY', encryptionKey),
  });
  await withDatabase({ url: config.databaseUrl, applicationName: 'auth keys' }, async (db) => {
    const keys = createKeyStore({ db, encryptionKeys: config.encryptionKeys });
    // Throws if KEY_ENCRYPTION_KEY is not the key of the running instances. These instances could not decrypt a signing
    // key that this command encrypts with another key.
    await keys.load();
    if (command === 'rotate') {
      const delay = argument === '--now' ? 0 : keyPublishDelaySeconds;
      await keys.ensureCurrentKeys();
      await keys.rotate(delay);
      // If the delay is 0, the new key may already sign, so this command makes it the current key.
      if (delay === 0) await keys.advance();
      await storeEvents(db, [{ kind: 'keys.rotated', detail: { delay } }]);
    } else if (command === 'remove') {
      if (!(await keys.deleteRetired(argument))) throw new Error(`there is no retired key ${argument}`);
      await storeEvents(db, [{ kind: 'keys.removed', detail: { kid: argument } }]);
    } else if (command === 'reencrypt') {
      const [first, second] = config.encryptionKeys;
      if (!config.newKey && !second)
        throw new Error('KEY_ENCRYPTION_KEY must be NEW,OLD, or set NEW_KEY_ENCRYPTION_KEY');
      const newKey = config.newKey ?? first;
      await createFactorStore({ db, encryptionKeys: config.encryptionKeys }).reencrypt(newKey);
      await reencryptEmails(db, config.encryptionKeys, newKey);
      await keys.reencrypt(newKey);
      await storeEvents(db, [{ kind: 'keys.reencrypted' }]);
    }
    // Every command ends with the list of the keys. The command `list` does nothing else.
    for (const { kid, alg, state, signsFrom, deleteAfter } of await keys.list()) {
      const until = deleteAfter ? `  published until ${deleteAfter.toISOString()}` : '';
      process.stdout.write(`${alg}  ${state.padEnd(7)}  ${kid}  signs from ${signsFrom.toISOString()}${until}\n`);
    }
  });
});
