// Writes the file openapi.json, with the addresses of the demo. `npm run generate` runs this command.
import { writeFile } from 'node:fs/promises';
import { linksBelow } from '@bay-booking/common/links';
import { connectDatabase } from '@bay-booking/service/database/database';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { createMetrics } from '@bay-booking/service/metrics';
import { createStateItem } from '../bookings/resource.ts';
import { readBookingsConfig } from '../config.ts';
import { createEndpoints } from '../endpoints.ts';
import { createOpenApi } from '../openapi/document.ts';
import { createWebhooks } from '../webhooks/webhooks.ts';

runCommand(async () => {
  const config = readBookingsConfig({
    // The endpoints need a database object, but this command sends no query.
    DATABASE_URL: 'postgres://localhost/none',
    BASE_URL: 'http://localhost:4001',
    AUTH_ISSUER: 'http://localhost:4000',
  });
  const db = connectDatabase({ url: config.databaseUrl, applicationName: 'openapi' });
  const logger = createLogger({ service: 'bookings', level: 'silent' });
  const metrics = createMetrics('bookings');
  // This command encrypts no secrets, so any key is right.
  const bookingItem = createStateItem(linksBelow(config.baseUrl));
  const webhooks = createWebhooks({ db, config, keys: [Buffer.alloc(32)], bookingItem, logger, metrics });
  const document = createOpenApi({
    endpoints: [...createEndpoints({ db, config, metrics, now: () => new Date() }), ...webhooks.endpoints],
    baseUrl: config.baseUrl,
    authIssuer: config.authIssuer,
    scope: `${config.scopeBase}/golf/bookings`,
  });
  await writeFile(`${import.meta.dirname}/../../openapi.json`, `${JSON.stringify(document, null, 2)}\n`);
  await db.destroy();
});
