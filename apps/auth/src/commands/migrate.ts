// Implements `npm run migrate -w apps/auth`: applies the migrations that the database does not have yet. The command
// can run several times, and on several hosts at the same time.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { migrate } from '@bay-booking/service/database/migrate';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { migrationsDirectory } from '../config.ts';

runCommand(async () => {
  commandArguments('migrate -w apps/auth');
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const print = (message: string): void => void process.stdout.write(`${message}\n`);
  const applied = await migrate({ url, directory: migrationsDirectory, log: print });
  print(applied.length === 0 ? 'the schema is up to date' : `applied ${applied.length} migrations`);
});
