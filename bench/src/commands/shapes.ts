// Measures every reading endpoint and filter on a loaded database, with a token for one facility and with a token for a
// hundred facilities. Each kind of request is a shape. The results are written to bench/results/.
// Usage: npm run shapes -w bench -- --bookings N [--requests 100] [--only alias].
// N is the size of the database. `--requests` is the number of requests per shape. `--only` is a part of the names of
// the shapes to measure.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import { baseUrl, scope, startBookings } from '../bookings-service.ts';
import { inOneDay } from '../compare-bookings.ts';
import { datasetOf } from '../dataset.ts';
import { loadDataset } from '../load.ts';
import { describeMachine } from '../machine.ts';
import { onDatabase, startServer } from '../server.ts';
import { findSources } from '../shape-list.ts';
import { measureShapes, type ShapeResult, shapeTable } from '../shapes.ts';

const { values } = parseArgs({
  options: {
    bookings: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '100' },
    only: { type: 'string' },
  },
});
const log = (line: string) => process.stderr.write(`${line}\n`);
const server = await startServer({
  databaseUrl: process.env.DATABASE_URL,
  dataDir: process.env.DATA_DIR,
  // `measureShapes` reads the time that PostgreSQL needs for each shape from this extension.
  settings: { shared_preload_libraries: 'pg_stat_statements' },
  log,
});
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => void server.stop().then(() => process.exit(1)));
const issuer = await createTestIssuer({ audience: baseUrl });
try {
  // The same number as in bench.ts, so that both commands can use the same loaded database.
  const maxFacilities = 250;
  const dataset = datasetOf(Number(values.bookings), maxFacilities);
  const databaseUrl = await server.database(`bookings_${dataset.bookings}`);
  await loadDataset(databaseUrl, dataset, log);
  // With `core: undefined`, the service may use all CPU cores.
  const service = await startBookings({ databaseUrl, issuer, core: undefined });
  const results: ShapeResult[] = [];
  try {
    await onDatabase(databaseUrl, async (client) => {
      await client.query('create extension if not exists pg_stat_statements');
      for (const facilityCount of [1, Math.min(100, dataset.facilities)]) {
        const sources = await findSources(client, dataset, facilityCount);
        const token = await issuer.token({ facilities: sources.facilities, scope, exp: inOneDay() });
        const tenant = facilityCount === 1 ? 'one facility' : `${facilityCount} facilities`;
        const { only } = values;
        const requests = Number(values.requests);
        results.push(
          ...(await measureShapes({ client, url: service.url, token, tenant, sources, requests, only, log })),
        );
      }
    });
  } finally {
    await service.stop();
  }
  const text = `${describeMachine()}; ${dataset.bookings} bookings\n\n${shapeTable(results)}\n`;
  process.stdout.write(text);
  const folder = fileURLToPath(new URL('../../results/', import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}shapes-${dataset.bookings}.md`, text);
} catch (error) {
  log(Error.isError(error) ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
} finally {
  await issuer.close();
  await server.stop();
}
