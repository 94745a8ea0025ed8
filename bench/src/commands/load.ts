// Fills a bookings database with a dataset. Usage: npm run load -w bench -- [--bookings 1000000] [--facilities 250].
// DATABASE_URL names the database. Without DATABASE_URL, the database is on an embedded server, and is named after the
// number of bookings, for example `bookings_1000000`. The data of this server are in DATA_DIR (default:
// bench/.data/postgres).
import { parseArgs } from 'node:util';
import { datasetOf } from '../dataset.ts';
import { loadDataset } from '../load.ts';
import { startServer } from '../server.ts';

const { values } = parseArgs({
  options: {
    bookings: { type: 'string', default: '1000000' },
    facilities: { type: 'string', default: '250' },
  },
});
const log = (line: string) => process.stderr.write(`${line}\n`);
const bookings = Number(values.bookings);
// A dataset with few bookings has fewer facilities than this (see `datasetOf`).
const maxFacilities = Number(values.facilities);
if (!Number.isInteger(bookings) || bookings < 1000 || !Number.isInteger(maxFacilities) || maxFacilities < 1) {
  log('--bookings must be a whole number of at least 1000, and --facilities a whole number of at least 1');
  process.exit(1);
}
const server = await startServer({ databaseUrl: process.env.DATABASE_URL, dataDir: process.env.DATA_DIR, log });
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => void server.stop().then(() => process.exit(1)));
try {
  await loadDataset(await server.database(`bookings_${bookings}`), datasetOf(bookings, maxFacilities), log);
} catch (error) {
  log(Error.isError(error) ? error.message : String(error));
  process.exitCode = 1;
} finally {
  await server.stop();
}
