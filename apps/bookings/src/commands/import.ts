// The command `npm run import -- FILE`: imports facilities, locations and bays. If FILE is `-`, the command reads
// standard input.
//
// The import finds each record by its id, and creates or updates it. If one record is invalid, nothing is imported.
import { logLevel, mandatory, optional, postgresUrl, readConfig } from '@bay-booking/service/config';
import { connectDatabase } from '@bay-booking/service/database/database';
import { databaseCheck } from '@bay-booking/service/http/readiness';
import { readInputFile } from '@bay-booking/service/input-file';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { createAudit } from '../audit.ts';
import { migrationsDirectory } from '../database/migrations-directory.ts';
import { readImport } from '../import/document.ts';
import { importPlaces } from '../import/store.ts';

runCommand(async () => {
  const { url, level } = readConfig(process.env, {
    url: mandatory('DATABASE_URL', postgresUrl),
    level: optional('LOG_LEVEL', logLevel, 'info'),
  });
  const [file, ...more] = process.argv.slice(2);
  if (file === undefined || more.length > 0)
    throw new Error('usage: npm run import -w apps/bookings -- FILE (or - for standard input)');
  // npm changes to the directory of the workspace, but FILE is relative to the directory where npm was called.
  const directory = process.env.INIT_CWD ?? process.cwd();
  const facilities = readImport(await readInputFile(file, directory));
  // One transaction imports everything, so one connection is enough. A statement may import thousands of bays, and take
  // up to two minutes (`queryTimeout` is in milliseconds).
  const db = connectDatabase({ url, applicationName: 'bookings-import', poolMax: 1, queryTimeout: 120_000 });
  try {
    // Throws an error if the schema of the database does not fit this release.
    await databaseCheck(db, migrationsDirectory)();
    await importPlaces(db, facilities);
  } finally {
    await db.destroy();
  }
  const locations = facilities.flatMap((facility) => facility.locations);
  const bays = facilities.flatMap((facility) => facility.bays);
  const audit = createAudit(createLogger({ service: 'bookings', level }));
  const facilityIds = facilities.map(({ id }) => id);
  audit({ caller: { clientId: 'import', subject: null } }, { action: 'import', facilityIds, target: null });
  process.stdout.write(
    `imported ${facilities.length} facilities, ${locations.length} locations, ${bays.length} bays\n`,
  );
});
