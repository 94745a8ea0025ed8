// Implements `npm run import -w apps/auth -- FILE`: imports facilities, accounts and clients from a JSON file. If FILE
// is `-`, the command reads standard input. docs/import.md describes the file.
import { importFile, readImportFile } from '@bay-booking/records/commands';
import {
  encryptionKeys,
  httpUrl,
  mandatory,
  networks,
  optional,
  postgresUrl,
  readConfig,
  scopeBase,
} from '@bay-booking/service/config';
import { runCommand } from '@bay-booking/service/lifecycle';
import { isLoopback } from '@bay-booking/service/public-address';
import { withDatabase } from '@bay-booking/service/with-database';
import { migrationsDirectory } from '../config.ts';
import { createAccountRecords } from '../management/management.ts';

runCommand(async () => {
  const { databaseUrl, ...settings } = readConfig(process.env, {
    databaseUrl: mandatory('DATABASE_URL', postgresUrl),
    issuer: optional('ISSUER', httpUrl, 'http://localhost:4000'),
    // URLs of clients may lead to these networks, and to public addresses.
    outboundAllowNetworks: optional('OUTBOUND_ALLOW_NETWORKS', networks, [] as readonly string[]),
    // For the secrets of authenticator apps in the file.
    encryptionKeys: optional('KEY_ENCRYPTION_KEY', encryptionKeys),
    scopeBase: optional('SCOPE_BASE', scopeBase, 'https://bay-booking.example'),
  });
  const document = await readImportFile('apps/auth');
  // In development, clients of the implicit flow may have redirect URIs on `http://localhost`. The server applies the
  // same rule (config.ts).
  const isDevelopment = isLoopback(settings.issuer) && process.env.NODE_ENV !== 'production';
  await withDatabase({ url: databaseUrl, applicationName: 'auth import', migrationsDirectory }, async (db) => {
    const store = await createAccountRecords(db, { ...settings, isDevelopment });
    process.stdout.write(`imported ${await importFile(store, document)}\n`);
  });
});
