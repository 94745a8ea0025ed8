// npm run import -- FILE: facilities, locations and bays, upserted by id, all or nothing; `-` reads standard input.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { connectDatabase } from '@bay-booking/service/database';
import { runMain } from '@bay-booking/service/lifecycle';
import { databaseCheck } from '@bay-booking/service/readiness';
import { migrationsDirectory } from '../migrations-directory.ts';
import { readImport } from '../places/import.ts';
import { importPlaces } from '../places/import-store.ts';

runMain(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const [file, ...more] = process.argv.slice(2);
  if (file === undefined || more.length > 0)
    throw new Error('usage: npm run import -w apps/bookings -- FILE (or - for standard input)');
  // npm runs this in apps/bookings; the path was typed elsewhere.
  const path = resolve(process.env.INIT_CWD ?? process.cwd(), file);
  const facilities = readImport(file === '-' ? await text(process.stdin) : await readFile(path, 'utf8'));
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
