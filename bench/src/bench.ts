// Runs the benchmark and prints its table. docs/performance.md explains the options.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createTestIssuer } from '@bay-booking/testkit/issuer';
import { startAuth, startTokenPeer, tokenOperations } from './auth.ts';
import { bookingOperations, operationNames } from './booking-operations.ts';
import { baseUrl, peerOperations, peers, startBookings, startPeer } from './bookings.ts';
import { type Dataset, datasetOf, loadDataset } from './dataset.ts';
import { describeMachine } from './machine.ts';
import { measureInTurn, type Operation, type Pair, type Sample, type Target } from './measure.ts';
import { type Child, thisRelease } from './processes.ts';
import { resultTable } from './report.ts';
import { startServer } from './server.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
    bookings: { type: 'string' },
    only: { type: 'string' },
    before: { type: 'string' },
    growth: { type: 'string' },
  },
});
const size = Number(values.bookings ?? (values.page ? 500_000 : 1_000_000));
/** The sizes of a small and a large dataset. */
const growth = values.growth ?? (values.page ? '100000,2000000' : undefined);
const only = values.only?.split(',');
const wants = (name: string): boolean => only === undefined || only.includes(name);
const releases = [{ name: 'service', release: thisRelease }];
// npm runs this program in bench/. INIT_CWD is the folder where the user called npm.
if (values.before) releases.push({ name: 'before', release: resolve(process.env.INIT_CWD ?? '', values.before) });

const log = (line: string) => void process.stderr.write(`${line}\n`);
const server = await startServer(log);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
/** The folder for files that wrk reads. */
const folder = mkdtempSync(join(tmpdir(), 'bay-booking-bench-'));
const [rounds, seconds, warmUpSeconds] = values.quick ? [2, 1, 3] : values.page ? [5, 1, 3] : [5, 2, 5];
const options = { rounds, seconds, warmUpSeconds, postmaster: server.pid, log };
const issuer = await createTestIssuer({ audience: baseUrl });
const children: Child[] = [];
try {
  const samples: Sample[] = [];
  if (operationNames.some(wants)) samples.push(...(await measureBookings()));
  if (await server.hasDeadlocks()) throw new Error('there were deadlocks');
  await stopTargets();
  if (['token', 'refresh'].some(wants)) samples.push(...(await measureAuth()));
  publish(samples);
} finally {
  await stopTargets();
  await issuer.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Starts a target twice: the first start fills the compile cache, which the images of the services contain. */
async function startTarget(start: () => Promise<Child>): Promise<Child> {
  await (await start()).stop();
  const child = await start();
  children.push(child);
  return child;
}

async function stopTargets(): Promise<void> {
  await Promise.all(children.splice(0).map((child) => child.stop()));
}

interface Measured {
  readonly target: Target;
  readonly operations: Readonly<Record<string, Operation>>;
}

async function measureBookings(): Promise<Sample[]> {
  const dataset = datasetOf(size);
  const instances = releases.map(({ name, release }) => ({ name, release, dataset }));
  const sizes = growth?.split(',').map((size) => datasetOf(Number(size))) ?? [];
  for (const [index, dataset] of sizes.entries())
    instances.push({ name: index === 0 ? 'small' : 'large', release: thisRelease, dataset });
  /** The number of facilities in all tokens, so that only the number of bookings differs. */
  const facilities = Math.min(25, ...instances.map(({ dataset }) => dataset.facilities));
  const loadBookings = async (name: string, release: string, dataset: Dataset) => {
    const databaseUrl = await server.createDatabase(`bookings_${name}`);
    log(`loading ${dataset.bookings} bookings, about a minute per million`);
    await loadDataset(databaseUrl, dataset, release);
    return { databaseUrl, operations: await bookingOperations(databaseUrl, issuer, facilities, folder) };
  };
  const services: Measured[] = [];
  for (const { name, release, dataset } of instances) {
    const { databaseUrl, operations } = await loadBookings(name, release, dataset);
    services.push({ target: await startTarget(() => startBookings(name, release, databaseUrl, issuer)), operations });
  }
  // The peers have a database of their own: their writes would slow down the service, but not the earlier release.
  const ofPeers = await loadBookings('peers', thisRelease, datasetOf(size));
  const others: Measured[] = [];
  for (const peer of peers) {
    const target = await startTarget(() => startPeer(peer, ofPeers.databaseUrl, issuer));
    others.push({ target, operations: ofPeers.operations });
  }
  const samples: Sample[] = [];
  for (const name of operationNames.filter(wants)) {
    const measured = peerOperations.includes(name) ? [...services, ...others] : services;
    const pairs = measured.map(({ target, operations }): Pair => [target, operations[name] as Operation]);
    samples.push(...(await measureInTurn(name, pairs, options)));
  }
  return samples;
}

async function measureAuth(): Promise<Sample[]> {
  const services: Child[] = [];
  for (const { name, release } of releases) {
    const databaseUrl = await server.createDatabase(`auth_${name}`);
    services.push(await startTarget(() => startAuth(name, release, databaseUrl)));
  }
  const startTokens = async () => startTokenPeer(await server.createDatabase('oidc_provider'));
  const targets = [...services, await startTarget(startTokens)];
  const samples: Sample[] = [];
  for (const [name, operation] of Object.entries(tokenOperations(folder)).filter(([name]) => wants(name))) {
    const pairs = targets.map((target): Pair => [target, operation]);
    samples.push(...(await measureInTurn(name, pairs, options)));
  }
  return samples;
}

function publish(samples: readonly Sample[]): void {
  const sizes = growth ? `; growth: ${growth}` : '';
  const run = `${rounds} rounds of ${seconds} s, ${size} bookings${sizes}`;
  const text = `${describeMachine()}, PostgreSQL ${server.version};\n${run}\n\n${resultTable(samples)}\n`;
  process.stdout.write(text);
  if (!values.page) return;
  const page = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));
  const above = readFileSync(page, 'utf8').split('\n## Results\n')[0];
  writeFileSync(page, `${above}\n## Results\n\n${text}`);
}
