// Implements `npm run import -w apps/bookings -- FILE`: imports facilities, locations and bays. If FILE is `-`, the
// command reads standard input.
//
// The import finds each record by its id and creates or updates it. If one record is invalid, nothing is imported.
import { linksBelow } from '@bay-booking/common/links';
import { importFile, readImportFile } from '@bay-booking/records/commands';
import { logLevel, mandatory, optional, postgresUrl, readConfig } from '@bay-booking/service/config';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { withDatabase } from '@bay-booking/service/with-database';
import { createAuditLog } from '../audit-log.ts';
import { bookingsMigrations as migrationsDirectory } from '../config.ts';
import { createPlaceRecords } from '../places/record.ts';

runCommand(async () => {
  const { url, level } = readConfig(process.env, {
    url: mandatory('DATABASE_URL', postgresUrl),
    level: optional('LOG_LEVEL', logLevel, 'info'),
  });
  const document = await readImportFile('apps/bookings');
  await withDatabase({ url, applicationName: 'bookings-import', migrationsDirectory }, async (db) => {
    const audit = createAuditLog(createLogger({ service: 'bookings', level }));
    // The import needs no links: only a deletion has some.
    const counts = await importFile(createPlaceRecords(db, linksBelow(''), audit), document);
    process.stdout.write(`imported ${counts}\n`);
  });
});
