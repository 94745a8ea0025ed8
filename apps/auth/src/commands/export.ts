// Implements `npm run export -w apps/auth -- [--credentials=hashed] [FILE]`: writes an import file of everything to
// FILE, or to standard output.
import { exportFile } from '@bay-booking/records/commands';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { migrationsDirectory } from '../config.ts';
import { createAccountRecords } from '../management/management.ts';

const withHashesOption = '--credentials=hashed';

runCommand(async () => {
  const withHashes = process.argv.includes(withHashesOption);
  const usage = `export -w apps/auth -- [${withHashesOption}] [FILE]`;
  const [file] = commandArguments(usage, { most: 1, options: [withHashesOption] });
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  await withDatabase({ url, applicationName: 'auth export', migrationsDirectory }, async (db) => {
    // The export validates nothing.
    const settings = { issuer: 'http://localhost', isDevelopment: false, outboundAllowNetworks: [], scopeBase: '' };
    const store = await createAccountRecords(db, { ...settings, encryptionKeys: undefined });
    await exportFile(store, file, withHashes ? { credentials: 'hashed' } : {});
  });
});
