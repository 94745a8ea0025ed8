// npm run migrate -w apps/auth: brings the database to the newest schema; safe to run twice and from two hosts at once.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { migrate } from '@bay-booking/service/database/migrate';
import { runCommand } from '@bay-booking/service/lifecycle';
import { migrationsDirectory } from '../migrations-directory.ts';

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const say = (message: string): void => void process.stdout.write(`${message}\n`);
  const applied = await migrate({ url, directory: migrationsDirectory, log: say });
  say(applied.length === 0 ? 'the schema is up to date' : `applied ${applied.length} migrations`);
});
