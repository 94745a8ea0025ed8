// The command `npm run recount`: after a change of bookings outside the service, corrects the counts from which the
// totals of long lists are calculated, and adds the missing changes to the log. The service can run meanwhile.
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { runCommand } from '@bay-booking/service/lifecycle';
import { withDatabase } from '@bay-booking/service/with-database';
import { bookingState } from '../bookings/storage/columns.ts';
import { recount } from '../changes/recount.ts';

/** Recounting reads every booking, so its statements may take long. */
const queryTimeout = 3_600_000;

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  await withDatabase({ url, applicationName: 'recount', queryTimeout }, async (db) => {
    const corrected = await recount(db, bookingState);
    process.stdout.write(`${corrected} counts corrected\n`);
  });
});
