// The command `npm run import -- FILE`: imports facilities, locations and bays. If FILE is `-`, the command reads
// standard input.
//
// The import finds each record by its id and creates or updates it. If one record is invalid, nothing is imported.
import { linksBelow } from '@bay-booking/common/links';
import { importFile, readImportFile } from '@bay-booking/records/commands';
import { logLevel, mandatory, optional, postgresUrl, readConfig } from '@bay-booking/service/config';
import { connectDatabase } from '@bay-booking/service/database/database';
import { databaseCheck } from '@bay-booking/service/http/readiness';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { createAudit } from '../audit.ts';
import { migrationsDirectory } from '../database/migrations-directory.ts';
import { createPlaceRecords } from '../records/records.ts';

runCommand(async () => {
  const { url, level } = readConfig(process.env, {
    url: mandatory('DATABASE_URL', postgresUrl),
    level: optional('LOG_LEVEL', logLevel, 'info'),
  });
  const document = await readImportFile('apps/bookings');
  // One transaction imports everything, so one connection is enough (`queryTimeout` is in milliseconds).
  const db = connectDatabase({ url, applicationName: 'bookings-import', poolMax: 1, queryTimeout: 120_000 });
  try {
    // Throws an error if the schema of the database does not fit this release.
    await databaseCheck(db, migrationsDirectory)();
    // The import needs no links: only a deletion has some.
    const { entries, notes } = await importFile(createPlaceRecords(db, linksBelow('')), document);
    const audit = createAudit(createLogger({ service: 'bookings', level }));
    const facilityIds = notes as readonly string[];
    audit({ caller: { clientId: 'import', subject: null } }, { action: 'import', facilityIds, target: null });
    const count = (segments: number): number =>
      entries.filter(({ path }) => path.split('/').length === segments).length;
    process.stdout.write(`imported ${count(3)} facilities, ${count(5)} locations, ${count(7)} bays\n`);
  } finally {
    await db.destroy();
  }
});
