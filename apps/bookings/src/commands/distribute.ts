// npm run distribute: spreads the tables of DATABASE_URL over the nodes of its Citus cluster; changes nothing where there is none, and
// may be run again after each migration. Writers wait while it copies.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { distribute } from '@bay-booking/service/database/distribute';
import { runCommand } from '@bay-booking/service/lifecycle';
import { distribution } from '../database/distribution.ts';
import { migrationsDirectory } from '../database/migrations-directory.ts';

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const print = (message: string) => void process.stdout.write(`${message}\n`);
  const spread = await distribute({ url, directory: migrationsDirectory, distribution, log: print });
  if (!spread) print('Citus is not installed in this database: nothing is changed');
  else if (spread.length === 0) print('every table is where it belongs');
});
