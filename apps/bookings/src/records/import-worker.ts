// Imports a large file in a thread, with a connection of its own (packages/records/src/import-request.ts).
import { linksBelow } from '@bay-booking/common/links';
import { serveImport } from '@bay-booking/records/import-request';
import { connectDatabase } from '@bay-booking/service/database/database';
import { type Config, migrationsDirectory } from '../config.ts';
import { isoTimestamps } from '../time/timestamps.ts';
import { createPlaceRecords } from './records.ts';

await serveImport(({ databaseUrl: url, baseUrl }: Config) => {
  const queryTimeout = 120_000;
  const options = { url, applicationName: 'bookings-import', poolMax: 1, queryTimeout, types: isoTimestamps };
  const db = connectDatabase({ ...options, migrationsDirectory });
  return createPlaceRecords(db, linksBelow(baseUrl));
});
