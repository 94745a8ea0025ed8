// Imports a large file in a thread, with a connection of its own (packages/records/src/import-request.ts).
import { linksBelow } from '@bay-booking/common/links';
import { serveImport } from '@bay-booking/records/import-request';
import { connectDatabase } from '@bay-booking/service/database/database';
import { migrationsDirectory } from '../database/migrations-directory.ts';
import { isoTimestamps } from '../time/timestamps.ts';
import { createPlaceRecords, placeErrors } from './records.ts';

export interface ImportSettings {
  readonly databaseUrl: string;
  readonly baseUrl: string;
}

await serveImport(async ({ databaseUrl: url, baseUrl }: ImportSettings, run) => {
  const db = connectDatabase({
    url,
    applicationName: 'bookings-import',
    poolMax: 1,
    queryTimeout: 120_000,
    types: isoTimestamps,
    migrationsDirectory,
  });
  try {
    return await run({ store: createPlaceRecords(db, linksBelow(baseUrl)), errors: placeErrors });
  } finally {
    await db.destroy();
  }
});
