// Tests that a launcher can start and stop the embedded server, also after a kill -9 or an interrupted start, and that
// the launcher prints clear errors. launch.ts is the launcher of these tests.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { readPostmaster } from '../src/postmaster.ts';
import { findProcess, signal, waitForEnd } from '../src/processes.ts';

interface Launcher {
  child: ChildProcess;
  /** The line that launch.ts has printed: the started server, or an error. */
  server: { url: string; dataPath: string; port: number; progress: string[]; error?: string };
}

let folder: string;
let dataDir: string;
let launchers: ChildProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bay-booking-postgres-'));
  // The user that runs PostgreSQL must be able to enter the folder.
  chmodSync(folder, 0o755);
  dataDir = join(folder, 'postgres');
  launchers = [];
});

afterEach(async () => {
  for (const child of launchers) await end(child, 'SIGTERM');
  const orphan = readPostmaster(dataDir);
  if (orphan) {
    signal(orphan.pid, 'SIGKILL');
    await waitForEnd(orphan.pid, 20_000);
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Runs launch.ts with these server options, and waits until launch.ts prints its line of JSON. */
async function launch(options: object = {}): Promise<Launcher> {
  const args = [join(import.meta.dirname, 'launch.ts'), JSON.stringify({ dataDir, ...options })];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  launchers.push(child);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, server: JSON.parse(line) };
}

async function launchWithTable(options: object = {}): Promise<Launcher> {
  const launcher = await launch(options);
  await query(launcher.server.url, 'create table entry (n int)');
  return launcher;
}

const countRows = (url: string) => query(url, 'select count(*)::int as n from entry');

async function end(child: ChildProcess, signalName: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signalName);
  await once(child, 'exit');
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // Without a listener, a lost connection would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Waits up to 10 s until the file or folder does not exist, and returns whether it was removed. */
async function waitUntilRemoved(path: string): Promise<boolean> {
  const deadline = Date.now() + 10_000;
  while (existsSync(path)) {
    if (Date.now() > deadline) return false;
    await new Promise((resume) => setTimeout(resume, 20));
  }
  return true;
}

const serverPid = () => readPostmaster(dataDir)?.pid as number;

test('an embedded server listens only on loopback, requires a random password, and sorts with the builtin locale', async () => {
  const { server } = await launch({ settings: { max_connections: 20 } });
  const [row] = await query(
    server.url,
    `select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
            current_setting('max_connections') as connections, current_setting('timezone') as timezone,
            datlocprovider as provider, datlocale as locale, pg_encoding_to_char(encoding) as encoding
     from pg_database where datname = current_database()`,
  );
  const settings = { addresses: '127.0.0.1', sockets: '', connections: '20', timezone: 'UTC' };
  expect(row).toEqual({ ...settings, provider: 'b', locale: 'C.UTF-8', encoding: 'UTF8' });
  const passwordFile = join(dataDir, 'superuser-password');
  expect(statSync(passwordFile).mode & 0o777).toBe(0o600);
  expect(readFileSync(passwordFile, 'utf8').trim()).toHaveLength(32);
  const urlWithWrongPassword = new URL(server.url);
  urlWithWrongPassword.password = 'wrong';
  await expect(query(urlWithWrongPassword.href, 'select 1')).rejects.toThrow('password authentication failed');
});

describe('after a kill -9', () => {
  test('of the launcher and the server, the next start uses the data', async () => {
    const { child } = await launchWithTable();
    const pid = serverPid();
    await end(child, 'SIGKILL');
    signal(pid, 'SIGKILL');
    const { server } = await launch();
    expect(server.progress).toEqual([]);
    expect(await countRows(server.url)).toEqual([{ n: 0 }]);
  });

  test('of a launcher with a temporary folder, the watchdog stops the server and removes the folder', async () => {
    const { child, server } = await launch({ dataDir: undefined });
    const postmaster = readPostmaster(server.dataPath);
    await end(child, 'SIGKILL');
    expect(await waitForEnd(postmaster?.pid as number, 40_000)).toBe(true);
    expect(await waitUntilRemoved(dirname(server.dataPath))).toBe(true);
  });
});

test('a postmaster.pid with the id of an unrelated process does not prevent the start', async () => {
  const { child } = await launch();
  const text = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8');
  await end(child, 'SIGTERM');
  writeFileSync(join(dataDir, 'postmaster.pid'), text.replace(/^\d+/, String(process.pid)));
  const { server } = await launch();
  expect(server.progress).toEqual([]);
});

test('an interrupted first start does not prevent the next start', async () => {
  // The first start creates the files in this folder, and renames the folder when all files are complete. The name ends
  // with the id of its process.
  const abandoned = `${dataDir}.new-999999999`;
  mkdirSync(join(abandoned, 'base'), { recursive: true });
  const { server } = await launch();
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  expect(existsSync(abandoned)).toBe(false);
});

describe('exactly one of several launchers that start at the same time gets the data', () => {
  async function expectOneWinner(): Promise<Launcher> {
    const started = await Promise.all(Array.from({ length: 4 }, () => launch()));
    const winners = started.filter(({ server }) => !server.error);
    expect(winners).toHaveLength(1);
    const winner = winners[0] as Launcher;
    const error = `the running process ${winner.child.pid} already uses the database files in ${dataDir}`;
    expect(started.map(({ server }) => server.error).filter(Boolean)).toEqual([error, error, error]);
    expect(readdirSync(folder).toSorted()).toEqual(['postgres', 'postgres.log']);
    return winner;
  }

  test('if there are no data', async () => {
    const { server } = await expectOneWinner();
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('after a kill -9 of the last launcher', async () => {
    const { child } = await launchWithTable();
    await end(child, 'SIGKILL');
    const { server } = await expectOneWinner();
    expect(await countRows(server.url)).toEqual([{ n: 0 }]);
  });
});

describe('the launcher prints an error', () => {
  test('if another program uses the requested port', async () => {
    const otherProgram = createServer().listen(0, '127.0.0.1');
    await once(otherProgram, 'listening');
    const { port } = otherProgram.address() as { port: number };
    const { server } = await launch({ port });
    otherProgram.close();
    expect(server.error).toBe(`port ${port} (PostgreSQL) is taken`);
  });

  test('if another major version of PostgreSQL has created the data directory', async () => {
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'PG_VERSION'), '9\n');
    const { server } = await launch();
    expect(server.error).toMatch(/was made by PostgreSQL 9 \(this is \d+\): move it away/);
  });

  test('with the end of the server log, if a setting is invalid', async () => {
    const { server } = await launch({ settings: { max_connections: 'many' } });
    expect(server.error).toMatch(/PostgreSQL did not start: .*invalid value for parameter "max_connections": "many"/s);
  });
});

const isRoot = process.getuid?.() === 0;

// If the tests run as root, the server runs as another account, which cannot enter the folder `closed`.
const place = isRoot ? 'outside' : 'in';
test(`data are ${place} a folder that only its owner may enter, a stop leaves no process, and the next start finds the data`, async () => {
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const options = { dataDir: join(closed, 'postgres') };
  const { child, server } = await launchWithTable(options);
  const isMoved = server.dataPath !== options.dataDir;
  expect(isMoved).toBe(isRoot);
  try {
    const pid = readPostmaster(server.dataPath)?.pid as number;
    await end(child, 'SIGTERM');
    expect(findProcess(pid)).toBeUndefined();
    const second = await launch(options);
    expect(second.server.dataPath).toBe(server.dataPath);
    expect(await countRows(second.server.url)).toEqual([{ n: 0 }]);
    await end(second.child, 'SIGTERM');
  } finally {
    if (isMoved) rmSync(dirname(server.dataPath), { recursive: true, force: true });
  }
});
