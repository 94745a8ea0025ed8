// Imports a large file in a thread, with a connection of its own (packages/records/src/import-request.ts).
import { serveImport } from '@bay-booking/records/import-request';
import { connectDatabase } from '@bay-booking/service/database/database';
import { migrationsDirectory } from '../migrations-directory.ts';
import { createClientValidator } from '../oidc/clients/validation.ts';
import { createScopeTable } from '../oidc/scopes.ts';
import { accountErrors, createAccountRecords } from './records.ts';

export interface ImportSettings {
  readonly databaseUrl: string;
  readonly issuer: string;
  readonly isDevelopment: boolean;
  readonly allowNetworks: readonly string[];
  readonly scopeBase: string;
  readonly encryptionKeys: readonly Uint8Array[];
}

await serveImport(async (settings: ImportSettings) => {
  const { databaseUrl: url, scopeBase } = settings;
  const options = { url, applicationName: 'auth-import', poolMax: 1, queryTimeout: 120_000 };
  const store = createAccountRecords(connectDatabase({ ...options, migrationsDirectory }), {
    scopes: createScopeTable(scopeBase),
    validator: await createClientValidator(settings),
    encryptionKeys: settings.encryptionKeys.map((key) => Buffer.from(key)),
  });
  return { store, errors: accountErrors };
});
