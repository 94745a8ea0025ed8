// npm run recount [-- --off]: puts right what long lists are counted by, under whatever load, and says how much was wrong; from then on
// totals are told by the counts. `--off` before a release that does not keep them is deployed again (docs/operations/upgrade.md).
import { parseArgs } from 'node:util';
import { mandatory, postgresUrl, readConfig } from '@bay-booking/service/config';
import { connectDatabase } from '@bay-booking/service/database/database';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createCountingStore } from '../bookings/counts/compaction.ts';

const anHour = 3_600_000;

runCommand(async () => {
  const { url } = readConfig(process.env, { url: mandatory('DATABASE_URL', postgresUrl) });
  const { values } = parseArgs({ options: { off: { type: 'boolean', default: false } } });
  const db = connectDatabase({ url, applicationName: 'recount', poolMax: 1, queryTimeout: anHour });
  const counting = createCountingStore(db);
  try {
    if (values.off) {
      await counting.setComplete(false);
      process.stdout.write('totals are counted row by row from now on\n');
      return;
    }
    const wrong = await counting.recount();
    await counting.setComplete(true);
    process.stdout.write(`${wrong} counts were wrong and are right now; totals are told by the counts\n`);
  } finally {
    await db.destroy();
  }
});
