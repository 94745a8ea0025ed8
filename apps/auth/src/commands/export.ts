// Implements `npm run export -w apps/auth -- [--credentials=hashed] [FILE]`: writes an import file of everything to
// FILE, or to standard output.
import { exportFile } from '@bay-booking/records/commands';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { storeEvents } from '../audit/store.ts';
import { migrationsDirectory } from '../config.ts';
import { createAccountRecords, credentialsExported } from '../management/management.ts';

const withHashesOption = '--credentials=hashed';

runCommand(async () => {
  const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
  const [file, ...rest] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  if (rest.length > 0 || options.some((option) => option !== withHashesOption)) {
    throw new Error(`usage: npm run export -w apps/auth -- [${withHashesOption}] [FILE]`);
  }
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  await withDatabase({ url, applicationName: 'auth export', migrationsDirectory }, async (db) => {
    const withHashes = options.length > 0;
    if (withHashes) await storeEvents(db, [{ ...credentialsExported, detail: { operator: 'export' } }]);
    // The export validates nothing.
    const settings = { issuer: 'http://localhost', isDevelopment: false, outboundAllowNetworks: [], scopeBase: '' };
    const store = await createAccountRecords(db, { ...settings, encryptionKeys: undefined });
    await exportFile(store, file, withHashes ? { credentials: 'hashed' } : {});
  });
});
