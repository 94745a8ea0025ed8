// Implements `npm run import -w apps/auth -- FILE`: imports facilities, accounts and clients from a JSON file. If FILE
// is `-`, the command reads standard input. docs/import.md describes the file.
import {
  httpUrl,
  mandatory,
  networks,
  optional,
  postgresUrl,
  readConfig,
  scopeBase,
} from '@bay-booking/service/config';
import { databaseCheck } from '@bay-booking/service/http/readiness';
import { readInputFile } from '@bay-booking/service/input-file';
import { runCommand } from '@bay-booking/service/lifecycle';
import { isLoopback } from '@bay-booking/service/public-address';
import { encryptionKeys } from '../config.ts';
import { readImportDocument } from '../import/document.ts';
import { importDocument } from '../import/importer.ts';
import { migrationsDirectory } from '../migrations-directory.ts';
import { createClientValidator } from '../oidc/clients/validation.ts';
import { createScopeTable } from '../oidc/scopes.ts';
import { withDatabase } from './with-database.ts';

runCommand(async () => {
  const [file, ...rest] = process.argv.slice(2);
  if (!file || rest.length > 0) throw new Error('usage: npm run import -w apps/auth -- FILE (or - for standard input)');
  // npm runs this command in apps/auth, but a relative path refers to the directory in which the user started npm.
  const directory = process.env.INIT_CWD ?? process.cwd();
  const {
    databaseUrl,
    issuer,
    allowNetworks,
    scopeBase: base,
    keys,
  } = readConfig(process.env, {
    databaseUrl: mandatory('DATABASE_URL', postgresUrl),
    issuer: optional('ISSUER', httpUrl, 'http://localhost:4000'),
    // URLs of clients may lead to these networks, and to public addresses.
    allowNetworks: optional('OUTBOUND_ALLOW_NETWORKS', networks, [] as readonly string[]),
    // For the secrets of authenticator apps in the file.
    keys: optional('KEY_ENCRYPTION_KEY', encryptionKeys),
    scopeBase: optional('SCOPE_BASE', scopeBase, 'https://bay-booking.example'),
  });
  const document = readImportDocument(await readInputFile(file, directory));
  // In development, clients of the implicit flow may have redirect URIs on `http://localhost`. The server applies the
  // same rule (config.ts).
  const isDevelopment = isLoopback(issuer) && process.env.NODE_ENV !== 'production';
  await withDatabase({ url: databaseUrl, applicationName: 'auth import' }, async (db) => {
    // Stops with an error if this release cannot use the schema of the database.
    await databaseCheck(db, migrationsDirectory)();
    const { facilities, accounts, clients, skipped } = await importDocument(document, {
      db,
      scopes: createScopeTable(base),
      encryptionKeys: keys,
      clientValidator: await createClientValidator({ issuer, isDevelopment, allowNetworks }),
    });
    for (const id of skipped) process.stdout.write(`skipped ${id}, an account that was deleted\n`);
    process.stdout.write(`imported ${facilities} facilities, ${accounts} accounts, ${clients} clients\n`);
  });
});
