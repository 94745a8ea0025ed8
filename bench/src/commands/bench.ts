// Runs the benchmarks, and writes their tables and plots to bench/results/. Loads missing data first.
//
// Usage: npm run bench -- [options]
//   --quick                 measures two rounds of one second
//   --rounds 5              the number of rounds
//   --seconds 2             the duration of a round for each target
//   --bookings 1000000      the number of bookings in the database
//   --only get,create       measures only these operations or comparisons: names that are arguments of `wants` below
//   --targets bare,fastify  compares only with these targets
//   --profile               also writes a CPU profile of the service
//   --before PATH           only compares this release with the release in the git worktree PATH, whose packages must
//                           be installed. Writes before.md instead of latest.md.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compareBookings } from '../compare-bookings.ts';
import { compareDpop } from '../compare-dpop.ts';
import { compareFeatures, featureNames } from '../compare-features.ts';
import { compareReleases } from '../compare-releases.ts';
import { compareServices } from '../compare-services.ts';
import { compareTokens } from '../compare-tokens.ts';
import { compareWebhooks } from '../compare-webhooks.ts';
import { compareContention } from '../contention.ts';
import { datasetOf } from '../dataset.ts';
import { goalTable, judge } from '../goals.ts';
import { loadDataset } from '../load.ts';
import { describeMachine, findMissingRequirement, pin } from '../machine.ts';
import { otherCore, type Sample } from '../measure.ts';
import { plotOf, Results, tableOf } from '../report.ts';
import { onDatabase, startServer } from '../server.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    bookings: { type: 'string', default: '1000000' },
    targets: { type: 'string', default: '' },
    profile: { type: 'boolean', default: false },
    before: { type: 'string' },
  },
});
const log = (line: string) => process.stderr.write(`${line}\n`);
const missing = findMissingRequirement();
if (missing) {
  log(missing);
  process.exit(1);
}
/** A dataset with few bookings has fewer facilities than this (see `datasetOf`). */
const maxFacilities = 250;
/** The operations that the comparison "growth" measures with a small and with a large table of bookings. */
const growthOperations = ['get', 'search', 'upcoming', 'create', 'create-external', 'update', 'availability-week'];
const only = values.only.split(',').filter(Boolean);
const targetNames = values.targets.split(',').filter(Boolean);
const { before } = values;
/** Whether at least one of these operations or comparisons must be measured. With --before, none of them is. */
const wants = (...names: string[]) =>
  before === undefined && (only.length === 0 || names.some((name) => only.includes(name)));
const rounds = Number(values.rounds ?? (values.quick ? 2 : 5));
const seconds = Number(values.seconds ?? (values.quick ? 1 : 2));

const resultsFolder = fileURLToPath(new URL('../../results/', import.meta.url));
mkdirSync(resultsFolder, { recursive: true });
/** The folder for CPU profiles. */
const profile = values.profile ? resultsFolder : undefined;
/** The folder for temporary files. */
const folder = mkdtempSync(join(tmpdir(), 'bay-booking-bench-'));
const server = await startServer({ databaseUrl: process.env.DATABASE_URL, dataDir: process.env.DATA_DIR, log });
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => void server.stop().then(() => process.exit(1)));
/** A run that hangs ends after this time. */
const maxDurationMs = 30 * 60_000;
const timeLimit = setTimeout(() => void server.stop().then(() => process.exit(1)), maxDurationMs);
try {
  // PostgreSQL runs on another core than the measured service.
  if (server.pid) pin(server.pid, otherCore);
  const dataset = datasetOf(Number(values.bookings), maxFacilities);
  const databaseUrl = await server.database(`bookings_${dataset.bookings}`);
  const common = { postmaster: server.pid, folder, rounds, seconds, log };
  const options = { ...common, databaseUrl, dataset, only, targetNames, profile };
  /** Long comparisons run for at most three rounds. */
  const fewRounds = Math.min(3, rounds);
  const samples: Sample[] = [];
  const measureWithDataset = async (compare: () => Promise<Sample[]>): Promise<void> => {
    await loadDataset(databaseUrl, dataset, log);
    samples.push(...(await compare()));
  };
  if (before !== undefined)
    samples.push(...(await compareReleases({ ...common, before: resolve(before), server, dataset, only })));
  if (wants('get', 'create', 'create-external', 'update', 'search', 'upcoming'))
    await measureWithDataset(() => compareBookings(options));
  if (wants('dpop')) await measureWithDataset(() => compareDpop(options));
  if (wants(...featureNames)) await measureWithDataset(() => compareFeatures(options));
  if (wants('webhooks')) await measureWithDataset(() => compareWebhooks({ ...options, rounds: fewRounds }));
  if (wants('client-credentials', 'refresh', 'password')) {
    const databases = {
      databaseUrl: await server.database('auth'),
      peerDatabaseUrl: await server.database('oidc_provider'),
    };
    samples.push(...(await compareTokens({ ...common, ...databases, only, targetNames, profile })));
  }
  if (wants('contention')) await measureWithDataset(() => compareContention({ ...options, rounds: fewRounds }));
  // With DATABASE_URL, there is only one database, which cannot have two sizes.
  if (wants('growth') && !process.env.DATABASE_URL) {
    const services = [];
    for (const bookings of [10_000, 1_000_000]) {
      const service = {
        name: `${bookings} rows`,
        dataset: datasetOf(bookings, maxFacilities),
        databaseUrl: await server.database(`bookings_${bookings}`),
      };
      await loadDataset(service.databaseUrl, service.dataset, log);
      services.push(service);
    }
    const growth = { services, only: growthOperations, prefix: 'growth', rounds: fewRounds };
    samples.push(...(await compareServices({ ...common, ...growth })));
  }
  const version = await onDatabase(databaseUrl, async (client) => (await client.query('show server_version')).rows[0]);
  const run = `${rounds} rounds of ${seconds} s, ${dataset.bookings} bookings`;
  publish(samples, `${describeMachine()}, PostgreSQL ${version.server_version}; ${run}`);
} catch (error) {
  log(Error.isError(error) ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
} finally {
  clearTimeout(timeLimit);
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

function publish(samples: readonly Sample[], heading: string): void {
  const results = new Results(samples);
  const operations = results.operations();
  const text = [heading, ...operations.map((operation) => tableOf(results, operation)), goalTable(judge(results))].join(
    '\n\n',
  );
  process.stdout.write(`${text}\n`);
  writeFileSync(join(resultsFolder, before === undefined ? 'latest.md' : 'before.md'), `${text}\n`);
  for (const operation of operations) {
    writeFileSync(join(resultsFolder, `${operation.replaceAll(' ', '-')}.svg`), plotOf(results, operation));
  }
}
