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

await serveImport(({ databaseUrl: url, baseUrl }: ImportSettings) => {
  const queryTimeout = 120_000;
  const options = { url, applicationName: 'bookings-import', poolMax: 1, queryTimeout, types: isoTimestamps };
  const db = connectDatabase({ ...options, migrationsDirectory });
  return { store: createPlaceRecords(db, linksBelow(baseUrl)), errors: placeErrors };
});
