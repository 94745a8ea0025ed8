// Writes the file openapi.json, with the addresses of the demo. `npm run generate` runs this command.
import { writeFile } from 'node:fs/promises';
import { connectDatabase } from '@bay-booking/service/database/database';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { createMetrics } from '@bay-booking/service/metrics';
import { createEndpoints } from '../endpoints.ts';
import { createOpenApi } from '../openapi/document.ts';
import { createWebhooks } from '../webhooks/webhooks.ts';

runCommand(async () => {
  const baseUrl = 'http://localhost:4001';
  // The endpoints need a database object. No query is sent to it.
  const db = connectDatabase({ url: 'postgres://localhost/none', applicationName: 'openapi' });
  const webhooks = createWebhooks({
    db,
    baseUrl,
    keys: [Buffer.alloc(32)],
    allowNetworks: [],
    leaseDays: 7,
    logger: createLogger({ service: 'bookings', level: 'silent' }),
    metrics: createMetrics('bookings'),
  });
  const document = createOpenApi({
    endpoints: [...createEndpoints({ db, baseUrl, now: () => new Date() }), ...webhooks.endpoints],
    baseUrl,
    authIssuer: 'http://localhost:4000',
    scope: 'https://bay-booking.example/golf/bookings',
  });
  await writeFile(`${import.meta.dirname}/../../openapi.json`, `${JSON.stringify(document, null, 2)}\n`);
  await db.destroy();
});
