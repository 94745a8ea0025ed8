// npm run openapi: writes the checked-in openapi.json, with the demo's addresses.
import { writeFile } from 'node:fs/promises';
import { connectDatabase } from '@bay-booking/service/database/database';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createEndpoints } from '../app.ts';
import { createOpenApi } from '../openapi/document.ts';

runCommand(async () => {
  const baseUrl = 'http://localhost:4001';
  // Describing asks nothing of the database.
  const db = connectDatabase({ url: 'postgres://localhost/none', applicationName: 'openapi' });
  const document = createOpenApi({
    endpoints: createEndpoints({ db, baseUrl, now: () => new Date() }),
    baseUrl,
    authIssuer: 'http://localhost:4000',
    scope: 'https://bay-booking.example/golf/bookings',
  });
  await writeFile(`${import.meta.dirname}/../../openapi.json`, `${JSON.stringify(document, null, 2)}\n`);
  await db.destroy();
});
