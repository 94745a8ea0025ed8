// Implements `npm run recount -w apps/bookings`: adds the changes that the log lacks after bookings were changed
// outside the service. The service can run meanwhile.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { bookingState } from '../bookings/storage/columns.ts';
import { recount } from '../changes/recount.ts';

/** Recounting reads every booking, so its statements may take long. */
const queryTimeout = 3_600_000;

runCommand(async () => {
  commandArguments('recount -w apps/bookings');
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  await withDatabase({ url, applicationName: 'recount', queryTimeout }, async (db) => {
    const missing = await recount(db, bookingState);
    process.stdout.write(`${missing} changes added to the log\n`);
  });
});
