// Imports a large file in a thread, with a connection of its own (packages/records/src/import-request.ts).
import { serveImport } from '@bay-booking/records/import-request';
import { connectDatabase } from '@bay-booking/service/database/database';
import { type AuthConfig, migrationsDirectory } from '../config.ts';
import { createAccountRecords } from './records.ts';

await serveImport((config: AuthConfig) => {
  const encryptionKeys = config.encryptionKeys.map((key) => Buffer.from(key));
  const options = { url: config.databaseUrl, applicationName: 'auth-import', poolMax: 1, queryTimeout: 120_000 };
  return createAccountRecords(connectDatabase({ ...options, migrationsDirectory }), { ...config, encryptionKeys });
});
