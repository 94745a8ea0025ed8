// Implements `npm run export -w apps/bookings -- [FILE]`: writes an import file with all facilities, locations and bays
// to FILE, or to standard output.
import { linksBelow } from '@bay-booking/common/links';
import { exportFile } from '@bay-booking/records/commands';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { bookingsMigrations as migrationsDirectory } from '../config.ts';
import { createPlaceRecords } from '../places/record.ts';

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const [file, ...more] = process.argv.slice(2);
  if (more.length > 0) throw new Error('usage: npm run export -w apps/bookings [-- FILE]');
  await withDatabase({ url, applicationName: 'bookings-export', migrationsDirectory }, (db) =>
    exportFile(
      createPlaceRecords(db, linksBelow(''), () => {}),
      file,
    ),
  );
});
