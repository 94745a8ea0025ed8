// The command `npm run recount [-- --off]`: corrects the counts from which the totals of long lists are calculated, and
// lets the service use these counts. Also adds missing changes to the change feed. The service can run meanwhile.
//
// With `--off`, the service no longer uses the counts. This is necessary before a rollback to a release that does not
// maintain the counts (docs/operations/upgrade.md).
import { parseArgs } from 'node:util';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { connectDatabase } from '@bay-booking/service/database/database';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createCountCompaction } from '../changes/totals/compaction.ts';

/** In milliseconds. Recounting reads every booking, so its statements may take long. */
const queryTimeout = 3_600_000;

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const { values } = parseArgs({ options: { off: { type: 'boolean', default: false } } });
  const db = connectDatabase({ url, applicationName: 'recount', poolMax: 1, queryTimeout });
  const compaction = createCountCompaction(db);
  try {
    if (values.off) {
      await compaction.setComplete(false);
      process.stdout.write('totals now come from counting rows\n');
      return;
    }
    const corrected = await compaction.recount();
    await compaction.setComplete(true);
    process.stdout.write(`${corrected} counts corrected; totals now come from the counts\n`);
  } finally {
    await db.destroy();
  }
});
