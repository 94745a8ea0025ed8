// Tests `npm start` as a separate process with the real apps and real signals: start, stop, recovery after kill -9, and
// error messages.
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isPortFree } from '@bay-booking/postgres/ports';
import { readPostmaster } from '@bay-booking/postgres/postmaster';
import { findProcess, waitForEnd } from '@bay-booking/postgres/processes';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { queryOnce } from '@bay-booking/testkit/database';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import {
  cleanUp,
  createInstallation,
  type Installation,
  type Launcher,
  launch,
  processesOf,
  running,
  servicesOf,
} from './launcher.ts';

// A start takes long on a busy machine.
jest.setTimeout(180_000);

// All tests use one data folder, so that only the first start creates the databases. A start is the slowest step, so a
// test that needs a running system takes the one that an earlier test left running.
let installation: Installation;
const launchers: Launcher[] = [];

beforeAll(async () => {
  installation = await createInstallation();
});

afterAll(() => cleanUp(installation, launchers));

/** Runs `npm start` with the data folder and the ports of `system`. Default: the installation of all tests. */
function start(options: Parameters<typeof launch>[1] & { system?: Installation } = {}): Launcher {
  const launcher = launch(options.system ?? installation, options);
  launchers.push(launcher);
  return launcher;
}

const postgresFolder = () => join(installation.dataDir, 'postgres');

const findRunning = () => launchers.find(({ child }) => child.exitCode === null && child.signalCode === null);

/** Returns the running system, or starts one. */
async function runningSystem(): Promise<Launcher> {
  const launcher = findRunning() ?? start();
  await launcher.untilReady();
  return launcher;
}

async function stopSystem(): Promise<void> {
  await findRunning()?.stop();
}

/** Runs the command in the printed summary that creates a booking. Returns the booking. */
async function runPrintedCommand(launcher: Launcher): Promise<{ id: string; bayId: string }> {
  const output = launcher.output();
  const command = output.slice(output.indexOf('TOKEN=')).split('\n\n')[0] as string;
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', command], { timeout: 30_000 });
  return JSON.parse(stdout);
}

/** Returns the command with which the script start.sh of an app starts Node, without the arguments of start.sh. */
function nodeCommand(app: 'auth' | 'bookings'): string {
  const script = readFileSync(join(import.meta.dirname, `../../../apps/${app}/start.sh`), 'utf8');
  return /^exec (node .*)$/m.exec(script)?.[1]?.replace(' "$@"', '') ?? 'no exec in start.sh';
}

async function fetchToken(): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope: 'https://bay-booking.example/golf/bookings',
  });
  const headers = { Authorization: `Basic ${btoa('demo-pat-north:demo-pat-north-secret')}` };
  const response = await fetch(`${installation.auth}/connect/token`, { method: 'POST', headers, body });
  return ((await response.json()) as { access_token: string }).access_token;
}

const get = async (path: string) =>
  fetch(installation.bookings + path, { headers: { Authorization: `Bearer ${await fetchToken()}` } });
const totalOf = async (path: string) => ((await (await get(path)).json()) as { total: number }).total;
const statusOfBooking = async (id: string) => (await get(`/api/bookings/${id}`)).status;
const countBookings = () => totalOf('/api/bookings?metadata[demo]=yes');

/** Waits up to 40 s for the end of each process. */
async function expectAllToEnd(pids: readonly number[]): Promise<void> {
  for (const pid of pids) expect(await waitForEnd(pid, 40_000)).toBe(true);
}

/** Runs a statement in the database of bookings while the system is stopped. */
async function changeDatabase(statement: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir: postgresFolder(), fsync: false });
  await queryOnce(server.url.replace(/postgres$/, 'bookings'), statement);
  await server.stop();
}

describe('the first start', () => {
  let launcher: Launcher;
  let demoPort: number;

  beforeAll(async () => {
    const otherProgram = await serveHttp();
    demoPort = otherProgram.port;
    launcher = start({ env: { DEMO_PORT: String(demoPort) } });
    void launcher.untilReady().finally(() => otherProgram.close());
  });

  test('the demo is loaded as soon as the services are ready', async () => {
    const isReady = (base: string) =>
      fetch(`${base}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    // The test requests a token as soon as auth is ready. The request succeeds only if the demo data of auth is loaded.
    while (!(await isReady(installation.auth))) await pause(5);
    const headers = { Authorization: `Bearer ${await fetchToken()}` };
    while (!(await isReady(installation.bookings))) await pause(5);
    const bays = await fetch(`${installation.bookings}/api/booking-bays`, { headers });
    // The demo has 16 bays at the facility of the token, and 5 at another facility.
    expect(((await bays.json()) as { total: number }).total).toBe(16);
  });

  test('if the port of the demo page is taken, the system starts without the page', async () => {
    await launcher.untilReady();
    expect(launcher.output()).toContain(`\nthe demo page is not served: port ${demoPort} is taken `);
    expect(launcher.output()).not.toContain('its mails');
    expect(launcher.errors()).toBe('');
  });

  test('the services run with the Node flags of their start.sh', async () => {
    await launcher.untilReady();
    const commands = servicesOf(launcher).map((pid) => findProcess(pid)?.command);
    expect(commands.toSorted()).toEqual([nodeCommand('auth'), nodeCommand('bookings')].toSorted());
  });
});

test('a service may only read and write rows of its own database, and its password file is private', async () => {
  await runningSystem();
  const secretsFile = join(installation.dataDir, 'secrets.json');
  const secrets = JSON.parse(readFileSync(secretsFile, 'utf8'));
  expect(statSync(secretsFile).mode & 0o777).toBe(0o600);
  const port = readPostmaster(postgresFolder())?.port;
  const connect = async (role: string, database: string) => {
    const client = new pg.Client(`postgres://${role}:${secrets.passwords[role]}@127.0.0.1:${port}/${database}`);
    await client.connect();
    return client;
  };
  const client = await connect('bookings_service', 'bookings');
  try {
    const { rows } = await client.query(
      `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
              current_setting('idle_in_transaction_session_timeout') as idle, current_setting('timezone') as timezone,
              current_setting('datestyle') as datestyle`,
    );
    expect(rows).toEqual([{ lock: '2s', statement: '5s', idle: '10s', timezone: 'UTC', datestyle: 'ISO, YMD' }]);
    // The demo has 16 bays at one facility, and 5 at another.
    expect((await client.query('select from bay')).rowCount).toBe(21);
    await expect(client.query('create table other (n int)')).rejects.toThrow('permission denied');
    await expect(client.query('drop table bay')).rejects.toThrow('must be owner');
  } finally {
    await client.end();
  }
  await expect(connect('bookings_service', 'auth')).rejects.toThrow('permission denied');
});

test('another launcher with the same DATA_DIR or port prints one line and exits with code 1; the first continues', async () => {
  const firstLauncher = await runningSystem();
  const launcherWithSameData = start();
  expect(await launcherWithSameData.ended).toBe(1);
  expect(launcherWithSameData.errors()).toMatch(/^npm start is already running: process \d+ uses .*\n$/);
  const otherInstallation = { ...(await createInstallation()), authPort: installation.authPort };
  const launcherWithSamePort = start({ system: otherInstallation });
  expect(await launcherWithSamePort.ended).toBe(1);
  expect(launcherWithSamePort.errors()).toMatch(/^port \d+ is taken: .* AUTH_PORT\n$/);
  rmSync(otherInstallation.dataDir, { recursive: true, force: true });
  expect((await runPrintedCommand(firstLauncher)).bayId).toBe('bay-n1-10');
});

test('after a kill -9 of the launcher, the next start at once stops the old processes and uses the data', async () => {
  const launcher = await runningSystem();
  const { id } = await runPrintedCommand(launcher);
  const pids = processesOf(launcher);
  launcher.child.kill('SIGKILL');
  await start().untilReady();
  await expectAllToEnd(pids);
  expect(await statusOfBooking(id)).toBe(200);
});

describe('stop', () => {
  test('SIGTERM stops everything; the data survive a restart, which works without the whole demo', async () => {
    const launcher = await runningSystem();
    const booking = await runPrintedCommand(launcher);
    expect(booking.bayId).toBe('bay-n1-10');
    expect((await runPrintedCommand(launcher)).id).not.toBe(booking.id);
    expect(await countBookings()).toBe(64);
    const pids = processesOf(launcher);
    expect(servicesOf(launcher)).toHaveLength(2);
    expect(pids).toContain(readPostmaster(postgresFolder())?.pid);
    expect(await launcher.stop()).toBe(0);
    expect(running(pids)).toEqual([]);
    expect(await isPortFree(installation.authPort)).toBe(true);
    expect(await isPortFree(installation.bookingsPort)).toBe(true);
    expect(launcher.errors()).toBe('');

    // The other tests use North Range only.
    await changeDatabase("update facility set removed_at = now() where id = 'fac-south'");
    const restarted = await runningSystem();
    expect(restarted.output()).toContain('/facilities/1/id: belonged to a facility that was deleted');
    expect(restarted.output()).toContain('the demo is not complete: bookings: src/commands/import.ts - failed');
    expect(await statusOfBooking(booking.id)).toBe(200);
    expect(await countBookings()).toBe(64);
  });

  test('when a service ends unexpectedly, everything stops with exit code 1', async () => {
    const launcher = await runningSystem();
    const pids = processesOf(launcher);
    process.kill(servicesOf(launcher)[0] as number, 'SIGKILL');
    expect(await launcher.ended).toBe(1);
    expect(launcher.errors()).toMatch(/^(auth|bookings) has ended with SIGKILL\n$/);
    expect(running(pids)).toEqual([]);
  });

  test.each([
    { signal: 'SIGKILL', program: 'the launcher', result: 'SIGKILL' },
    { signal: 'SIGINT', program: 'the npm process that runs the launcher', result: 0 },
    { signal: 'SIGKILL', program: 'the npm process that runs the launcher', result: 'SIGKILL' },
  ] as const)('$signal for $program during the start leaves no process', async ({ signal, program, result }) => {
    await stopSystem();
    const launcher = start({ usesNpm: program !== 'the launcher' });
    await launcher.untilPrinted(/migrating the databases/);
    const pids = processesOf(launcher);
    expect(pids).toContain(readPostmaster(postgresFolder())?.pid);
    expect(await launcher.stop(signal)).toBe(result);
    await expectAllToEnd(pids);
    expect(readPostmaster(postgresFolder())).toBeUndefined();
  });
});

describe('the launcher prints one line for each error and exits with code 1', () => {
  test('if the demo must not be loaded, and an earlier start loaded it', async () => {
    await stopSystem();
    // An address of loopback that looks like another address.
    const launcher = start({ env: { HOST: '::ffff:127.0.0.1' } });
    expect(await launcher.ended).toBe(1);
    expect(launcher.output()).toContain('the demo is not loaded: HOST is ::ffff:127.0.0.1, ');
    expect(launcher.errors()).toMatch(/^the database contains the demo of an earlier start: .*\n$/);
  });

  test('if a later release has migrated the database, and the line says what to do', async () => {
    await stopSystem();
    await changeDatabase("insert into schema_migration (version, name, checksum) values (9999, 'contract_all', '')");
    const launcher = start();
    expect(await launcher.ended).toBe(1);
    await changeDatabase('delete from schema_migration where version = 9999');
    const error = /^bookings: the schema has version (\d+), newer than this release knows \(\d+\)\. [^\n]*\n$/;
    expect(launcher.errors()).toMatch(error);
    const { dataDir } = installation;
    expect(launcher.errors()).toContain(`Set DATA_DIR to another folder, or delete ${dataDir} with all its data\n`);
  });

  test('if DATA_DIR cannot be created', async () => {
    const launcher = start({ env: { DATA_DIR: '/dev/null/data' } });
    expect(await launcher.ended).toBe(1);
    expect(launcher.errors()).toMatch(/^DATA_DIR \S+ cannot be used by user .*\n$/);
  });

  test('if the database server cannot be reached', async () => {
    await stopSystem();
    const launcher = start({ env: { DATABASE_SERVER_URL: 'postgres://postgres:x@127.0.0.1:1/postgres' } });
    expect(await launcher.ended).toBe(1);
    const error = /^cannot connect to PostgreSQL at 127\.0\.0\.1:1 as postgres: .*ECONNREFUSED.*\n$/;
    expect(launcher.errors()).toMatch(error);
  });
});

test('launchers with different DATA_DIR can use one server, and load no demo with NODE_ENV=production', async () => {
  await stopSystem();
  const server = await startEmbeddedPostgres({ fsync: false });
  const otherInstallation = { ...installation, dataDir: join(installation.dataDir, 'other') };
  try {
    for (const system of [installation, otherInstallation]) {
      // With NODE_ENV=production, auth needs a mail server or MAIL=off.
      const env = { DATABASE_SERVER_URL: server.url, NODE_ENV: 'production', MAIL: 'off' };
      const launcher = start({ system, env });
      await launcher.untilReady();
      expect(launcher.output()).toContain(`PostgreSQL at 127.0.0.1:${server.port}`);
      expect(launcher.output()).not.toContain('demo-');
      expect((await fetch(`${installation.auth}/connect/jwks`)).status).toBe(200);
      expect(await launcher.stop()).toBe(0);
    }
    const databases = `select datname from pg_database where datname in ('auth', 'bookings')`;
    const { rows } = await queryOnce(server.url, databases);
    expect(rows).toHaveLength(2);
  } finally {
    await server.stop();
  }
});
