// Writes the file openapi.json, with the URLs of the demo. `npm run generate` runs this command.
import { writeFile } from 'node:fs/promises';
import { connectDatabase } from '@bay-booking/service/database/database';
import { commandArguments, runCommand } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { createMetrics } from '@bay-booking/service/metrics';
import { createBookingsApp } from '../app.ts';
import { readBookingsConfig } from '../config.ts';
import { createOpenApi } from '../openapi/document.ts';

runCommand(async () => {
  commandArguments('generate');
  const config = readBookingsConfig({
    // The endpoints need a database object, but this command sends no query.
    DATABASE_URL: 'postgres://localhost/none',
    BASE_URL: 'http://localhost:4001',
    AUTH_ISSUER: 'http://localhost:4000',
    // The webhook endpoints exist only if there is a key.
    WEBHOOK_KEY: Buffer.alloc(32).toString('base64'),
  });
  const db = connectDatabase({ url: config.databaseUrl, applicationName: 'openapi' });
  const logger = createLogger({ service: 'bookings', level: 'silent' });
  const metrics = createMetrics('bookings');
  const { endpoints, scopes } = createBookingsApp({ config, db, logger, metrics });
  const { baseUrl, authIssuer } = config;
  const document = createOpenApi({ endpoints, baseUrl, authIssuer, scopes });
  await writeFile(`${import.meta.dirname}/../../openapi.json`, `${JSON.stringify(document, null, 2)}\n`);
  await db.destroy();
});
