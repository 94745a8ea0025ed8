// Tests the embedded server in the situations of a launcher: start, stop, kill -9, files of earlier runs that were
// interrupted, and error messages.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { readPostmaster } from '../src/postmaster.ts';
import { processState, signal, waitForEnd } from '../src/processes.ts';

interface Launched {
  child: ChildProcess;
  started: { url: string; dataPath: string; port: number; recovered: boolean; error?: string };
}

let folder: string;
let dataDir: string;
let launched: ChildProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bay-booking-postgres-'));
  chmodSync(folder, 0o755);
  dataDir = join(folder, 'postgres');
  launched = [];
});

afterEach(async () => {
  for (const child of launched) await end(child, 'SIGTERM');
  const left = readPostmaster(dataDir);
  if (left) {
    signal(left.pid, 'SIGKILL');
    await waitForEnd(left.pid, 5_000);
  }
  rmSync(folder, { recursive: true, force: true });
});

async function launch(options: object = {}): Promise<Launched> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'launch.ts'), JSON.stringify({ dataDir, ...options })],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  launched.push(child);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, started: JSON.parse(line) };
}

async function end(child: ChildProcess, name: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(name);
  await once(child, 'exit');
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function eventuallyGone(path: string): Promise<boolean> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    if (!existsSync(path)) return true;
    await new Promise((resume) => setTimeout(resume, 20));
  }
  return false;
}

const serverPid = () => readPostmaster(dataDir)?.pid as number;

describe('an embedded server', () => {
  test('keeps its data when it is stopped and started again, and leaves no process', async () => {
    const first = await launch();
    await query(first.started.url, 'create table kept (n int)');
    const pid = serverPid();
    await end(first.child, 'SIGTERM');
    expect(processState(pid)).toBe('gone');
    const second = await launch();
    expect(second.started.recovered).toBe(false);
    expect(await query(second.started.url, 'select count(*)::int as n from kept')).toEqual([{ n: 0 }]);
  });

  test('listens only on loopback, requires a random password, and sorts with the builtin locale', async () => {
    const { started } = await launch({ settings: { max_connections: 20 } });
    const [row] = await query(
      started.url,
      `select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
              current_setting('max_connections') as connections, current_setting('timezone') as timezone,
              datlocprovider as provider, datlocale as locale, pg_encoding_to_char(encoding) as encoding
       from pg_database where datname = current_database()`,
    );
    expect(row).toEqual({
      addresses: '127.0.0.1',
      sockets: '',
      connections: '20',
      timezone: 'UTC',
      provider: 'b',
      locale: 'C.UTF-8',
      encoding: 'UTF8',
    });
    expect(statSync(`${dataDir}.password`).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${dataDir}.password`, 'utf8').trim()).toHaveLength(32);
    const wrong = new URL(started.url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'select 1')).rejects.toThrow('password authentication failed');
  });
});

describe('after a kill -9', () => {
  test('of the launcher, the next start stops the old server and uses its data', async () => {
    const first = await launch();
    await query(first.started.url, 'create table kept (n int)');
    const orphan = serverPid();
    await end(first.child, 'SIGKILL');
    expect(processState(orphan)).toBe('running');
    const second = await launch();
    expect(second.started).toMatchObject({ recovered: true });
    expect(processState(orphan)).not.toBe('running');
    expect(await query(second.started.url, 'select count(*)::int as n from kept')).toEqual([{ n: 0 }]);
  });

  test('of the launcher and the server, the next start uses the data', async () => {
    const first = await launch();
    await query(first.started.url, 'create table kept (n int)');
    const pid = serverPid();
    await end(first.child, 'SIGKILL');
    signal(pid, 'SIGKILL');
    const second = await launch();
    expect(second.started).toMatchObject({ recovered: false });
    expect(await query(second.started.url, 'select count(*)::int as n from kept')).toEqual([{ n: 0 }]);
  });

  test('of a launcher with a temporary folder, the watchdog stops the server and removes the folder', async () => {
    const { child, started } = await launch({ dataDir: undefined });
    const postmaster = readPostmaster(started.dataPath);
    await end(child, 'SIGKILL');
    expect(await waitForEnd(postmaster?.pid as number, 10_000)).toBe(true);
    expect(await eventuallyGone(dirname(started.dataPath))).toBe(true);
  });
});

describe('files of an earlier run', () => {
  test('a postmaster.pid with the id of an unrelated process does not prevent the start, and that process continues', async () => {
    const first = await launch();
    const text = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8');
    await end(first.child, 'SIGTERM');
    writeFileSync(join(dataDir, 'postmaster.pid'), text.replace(/^\d+/, String(process.pid)));
    const second = await launch();
    expect(second.started).toMatchObject({ recovered: false });
  });

  test('an interrupted first start does not prevent the next start', async () => {
    mkdirSync(`${dataDir}.new/base`, { recursive: true });
    writeFileSync(`${dataDir}.password`, 'of-the-first-try\n');
    const { started } = await launch();
    expect(await query(started.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('error messages', () => {
  test('a second launcher with the same data gets an error, and the first continues', async () => {
    const first = await launch();
    const second = await launch();
    expect(second.started.error).toBe(
      `the running process ${first.child.pid} already uses the database files in ${dataDir}`,
    );
    expect(await query(first.started.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('the requested port is used by another program', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const { started } = await launch({ port });
    other.close();
    expect(started.error).toBe(`port ${port} (PostgreSQL) is taken`);
  });

  test('the data directory was created by another major version of PostgreSQL', async () => {
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'PG_VERSION'), '9\n');
    const { started } = await launch();
    expect(started.error).toMatch(/was made by PostgreSQL 9, and this is PostgreSQL \d+: move it away/);
  });

  test('an invalid setting is reported with the end of the server log', async () => {
    const { started } = await launch({ settings: { max_connections: 'many' } });
    expect(started.error).toMatch(/PostgreSQL did not start: .*invalid value for parameter "max_connections": "many"/s);
  });
});

const asRoot = process.getuid?.() === 0;

describe(`data below a folder that only ${asRoot ? 'root' : 'its owner'} may enter`, () => {
  test('are stored in another folder if the server’s account cannot enter it, and the next start finds them', async () => {
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const inside = { dataDir: join(closed, 'postgres') };
    const first = await launch(inside);
    const elsewhere = first.started.dataPath !== inside.dataDir;
    expect(elsewhere).toBe(asRoot);
    try {
      await query(first.started.url, 'create table kept (n int)');
      await end(first.child, 'SIGTERM');
      const second = await launch(inside);
      expect(second.started.dataPath).toBe(first.started.dataPath);
      expect(await query(second.started.url, 'select count(*)::int as n from kept')).toEqual([{ n: 0 }]);
      await end(second.child, 'SIGTERM');
    } finally {
      if (elsewhere) rmSync(dirname(first.started.dataPath), { recursive: true, force: true });
    }
  });
});
