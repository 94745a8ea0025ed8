// Implements `npm run migrate -w apps/bookings`: applies the pending migrations. Several hosts can run it at the same
// time.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { migrate } from '@bay-booking/service/database/migrate';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { bookingsMigrations } from '../config.ts';

runCommand(async () => {
  commandArguments('migrate -w apps/bookings');
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const print = (message: string) => void process.stdout.write(`${message}\n`);
  const applied = await migrate({ url, directory: bookingsMigrations, log: print });
  print(applied.length === 0 ? 'the schema is up to date' : `${applied.length} migrations applied`);
});
