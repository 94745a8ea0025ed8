// npm run migrate: brings the database of DATABASE_URL to this release's schema. Safe twice and from two hosts at once.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { migrate } from '@bay-booking/service/database/migrate';
import { runCommand } from '@bay-booking/service/lifecycle';
import { migrationsDirectory } from '../database/migrations-directory.ts';

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const applied = await migrate({
    url,
    directory: migrationsDirectory,
    log: (message) => process.stdout.write(`${message}\n`),
  });
  process.stdout.write(applied.length === 0 ? 'the schema is up to date\n' : `${applied.length} migrations applied\n`);
});
