// Implements `npm run export -w apps/bookings -- [FILE]`: writes an import file with all facilities, locations and bays
// to FILE, or to standard output.
import { linksBelow } from '@bay-booking/common/links';
import { exportFile } from '@bay-booking/records/commands';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { bookingsMigrations as migrationsDirectory } from '../config.ts';
import { createPlaceRecords } from '../places/record.ts';

runCommand(async () => {
  const [file] = commandArguments('export -w apps/bookings -- [FILE]', { most: 1, options: [] });
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  await withDatabase({ url, applicationName: 'bookings-export', migrationsDirectory }, (db) =>
    exportFile(
      createPlaceRecords(db, linksBelow(''), () => {}),
      file,
    ),
  );
});
