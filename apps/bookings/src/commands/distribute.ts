// Implements `npm run distribute -w apps/bookings`: distributes the tables over the nodes of a Citus cluster.
//
// On a PostgreSQL without Citus, the command changes nothing. The command must run again after each migration, and can
// run at any time. While the command copies rows to the nodes, requests that create, change or delete data must wait.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { distribute } from '@bay-booking/service/database/distribute';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { bookingsMigrations } from '../config.ts';
import { distribution } from '../database/distribution.ts';

runCommand(async () => {
  commandArguments('distribute -w apps/bookings');
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const print = (message: string) => void process.stdout.write(`${message}\n`);
  const tables = await distribute({ url, directory: bookingsMigrations, distribution, log: print });
  if (!tables) print('Citus is not installed in this database: nothing was changed');
  else if (tables.length === 0) print('all tables were distributed already');
});
