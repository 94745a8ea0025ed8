// `npm run bench [-- --quick] [--only get,create] [--targets bare,fastify] [--rounds 5] [--seconds 2] [--bookings 1000000] [--profile]`: loads what is
// missing, compares, prints one table, and leaves it with plots (and the service's CPU profile) in bench/results/.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compareBookings } from '../compare-bookings.ts';
import { compareGrowth } from '../compare-growth.ts';
import { compareTokens } from '../compare-tokens.ts';
import { compareContention } from '../contention.ts';
import { goalTable, judge } from '../goals.ts';
import { loadWorld } from '../load.ts';
import { describeMachine, pin, whatIsMissing } from '../machine.ts';
import { otherCore, type Sample } from '../measure.ts';
import { plotOf, Results, tableOf } from '../report.ts';
import { onDatabase, startServer } from '../server.ts';
import { worldOf } from '../world.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    bookings: { type: 'string', default: '1000000' },
    targets: { type: 'string', default: '' },
    profile: { type: 'boolean', default: false },
  },
});
const log = (line: string) => process.stderr.write(`${line}\n`);
const missing = whatIsMissing();
if (missing) {
  log(missing);
  process.exit(1);
}
const only = values.only.split(',').filter(Boolean);
const wants = (...names: string[]) => only.length === 0 || names.some((name) => only.includes(name));
const rounds = Number(values.rounds ?? (values.quick ? 2 : 5));
const seconds = Number(values.seconds ?? (values.quick ? 1 : 2));

const resultsFolder = fileURLToPath(new URL('../../results/', import.meta.url));
mkdirSync(resultsFolder, { recursive: true });
const profile = values.profile ? resultsFolder : undefined;
const folder = mkdtempSync(join(tmpdir(), 'bay-booking-bench-'));
const server = await startServer({ databaseUrl: process.env.DATABASE_URL, dataDir: process.env.DATA_DIR, log });
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => void server.stop().then(() => process.exit(1)));
// A run that hangs must end too.
const limit = setTimeout(() => void server.stop().then(() => process.exit(1)), 30 * 60_000);
try {
  if (server.pid) pin(server.pid, otherCore);
  const world = worldOf(Number(values.bookings), 250);
  const databaseUrl = await server.database(`bookings_${world.bookings}`);
  const common = { postmaster: server.pid, folder, rounds, seconds, log };
  const samples: Sample[] = [];
  if (wants('get', 'create', 'create-external', 'update', 'search', 'upcoming')) {
    await loadWorld(databaseUrl, world, log);
    samples.push(
      ...(await compareBookings({
        ...common,
        databaseUrl,
        world,
        only,
        among: values.targets.split(',').filter(Boolean),
        profile,
      })),
    );
  }
  if (wants('client-credentials', 'refresh', 'password')) {
    samples.push(...(await compareTokens({ ...common, databaseUrl: await server.database('auth'), only, profile })));
  }
  if (wants('contention')) {
    await loadWorld(databaseUrl, world, log);
    samples.push(...(await compareContention({ ...common, databaseUrl, rounds: Math.min(3, rounds) })));
  }
  if (wants('growth') && !process.env.DATABASE_URL) {
    const worlds = [];
    for (const bookings of [10_000, 1_000_000]) {
      const one = worldOf(bookings, 250);
      const url = await server.database(`bookings_${bookings}`);
      await loadWorld(url, one, log);
      worlds.push({ world: one, databaseUrl: url });
    }
    samples.push(...(await compareGrowth({ ...common, worlds, rounds: Math.min(3, rounds) })));
  }
  const version = await onDatabase(databaseUrl, async (client) => (await client.query('show server_version')).rows[0]);
  publish(
    samples,
    `${describeMachine()}, PostgreSQL ${version.server_version}; ${rounds} rounds of ${seconds} s, ${world.bookings} bookings`,
  );
} catch (error) {
  log(Error.isError(error) ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
} finally {
  clearTimeout(limit);
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
  writeFileSync(join(resultsFolder, 'latest.md'), `${text}\n`);
  for (const operation of operations) {
    writeFileSync(join(resultsFolder, `${operation.replaceAll(' ', '-')}.svg`), plotOf(results, operation));
  }
}
