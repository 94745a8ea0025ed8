// npm run import -- FILE: facilities, locations and bays, upserted by id, all or nothing; `-` reads standard input.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { connectDatabase } from '@bay-booking/service/database/database';
import { databaseCheck } from '@bay-booking/service/http/readiness';
import { readInputFile } from '@bay-booking/service/input-file';
import { runCommand } from '@bay-booking/service/lifecycle';
import { migrationsDirectory } from '../database/migrations-directory.ts';
import { readImport } from '../places/import-document.ts';
import { importPlaces } from '../places/import-store.ts';

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const [file, ...more] = process.argv.slice(2);
  if (file === undefined || more.length > 0)
    throw new Error('usage: npm run import -w apps/bookings -- FILE (or - for standard input)');
  // npm runs this in apps/bookings; the path was typed elsewhere.
  const givenFrom = process.env.INIT_CWD ?? process.cwd();
  const facilities = readImport(await readInputFile(file, givenFrom));
  const db = connectDatabase({ url, applicationName: 'bookings-import', poolMax: 1, queryTimeout: 120_000 });
  try {
    await databaseCheck(db, migrationsDirectory)();
    await importPlaces(db, facilities);
  } finally {
    await db.destroy();
  }
  const count = (of: (facility: (typeof facilities)[number]) => readonly unknown[]): number =>
    facilities.flatMap(of).length;
  process.stdout.write(
    `imported ${facilities.length} facilities, ${count(({ locations }) => locations)} locations, ${count(({ bays }) => bays)} bays\n`,
  );
});
