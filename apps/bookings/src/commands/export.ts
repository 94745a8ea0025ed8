// The command `npm run export -- [FILE]`: writes an import file with all facilities, locations and bays to FILE, or to
// standard output.
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { connectDatabase } from '@bay-booking/service/database/database';
import { databaseCheck } from '@bay-booking/service/http/readiness';
import { runCommand } from '@bay-booking/service/lifecycle';
import { migrationsDirectory } from '../database/migrations-directory.ts';
import { exportPlaces } from '../import/find-store.ts';

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const [file, ...more] = process.argv.slice(2);
  if (more.length > 0) throw new Error('usage: npm run export -w apps/bookings [-- FILE]');
  const db = connectDatabase({ url, applicationName: 'bookings-export', poolMax: 1, queryTimeout: 120_000 });
  try {
    await databaseCheck(db, migrationsDirectory)();
    const text = `${JSON.stringify(await exportPlaces(db), null, 2)}\n`;
    // npm changes to the directory of the workspace, but FILE is relative to the directory where npm was called.
    if (file === undefined) process.stdout.write(text);
    else await writeFile(resolve(process.env.INIT_CWD ?? process.cwd(), file), text);
  } finally {
    await db.destroy();
  }
});
