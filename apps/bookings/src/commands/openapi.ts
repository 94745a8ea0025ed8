// Writes openapi.json with the addresses of the demo. `npm run generate` runs this command.
import { writeFile } from 'node:fs/promises';
import { connectDatabase } from '@bay-booking/service/database/database';
import { runCommand } from '@bay-booking/service/lifecycle';
import { createEndpoints } from '../app.ts';
import { createOpenApi } from '../openapi/document.ts';

runCommand(async () => {
  const baseUrl = 'http://localhost:4001';
  // The endpoints need a database object, but writing the document sends no query.
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
