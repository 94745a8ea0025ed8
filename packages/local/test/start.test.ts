// Tests `npm start` as a separate process with the real apps and real signals: start, stop, recovery after kill -9, and
// error messages.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { portIsFree } from '@bay-booking/postgres/ports';
import { readPostmaster } from '@bay-booking/postgres/postmaster';
import { commandLine, waitForEnd } from '@bay-booking/postgres/processes';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import {
  cleanUp,
  createInstallation,
  type Installation,
  type Launcher,
  launch,
  launcherPid,
  processesOf,
  running,
} from './launcher.ts';

const LIMIT_MS = 180_000;

let installation: Installation;
let launchers: Launcher[];

beforeEach(async () => {
  installation = await createInstallation();
  launchers = [];
});

afterEach(() => cleanUp(installation, launchers), LIMIT_MS);

function start(options: Parameters<typeof launch>[1] & { in?: Installation } = {}): Launcher {
  const launcher = launch(options.in ?? installation, options);
  launchers.push(launcher);
  return launcher;
}

/** Runs the command of the printed summary, which creates a booking. Returns the booking. */
async function runPrintedCommand(launcher: Launcher): Promise<{ id: string; bayId: string }> {
  const output = launcher.output();
  const command = output.slice(output.indexOf('TOKEN=')).split('\n\n')[0] as string;
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', command], { timeout: 30_000 });
  return JSON.parse(stdout);
}

/** Returns the command in start.sh of an app that starts Node, without the arguments that are passed to start.sh. */
function nodeCommand(app: 'auth' | 'bookings'): string {
  const script = readFileSync(join(import.meta.dirname, `../../../apps/${app}/start.sh`), 'utf8');
  return /^exec (node .*)$/m.exec(script)?.[1]?.replace(' "$@"', '') ?? 'no exec in start.sh';
}

async function token(): Promise<string> {
  const response = await fetch(`${installation.auth}/connect/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa('demo-pat-north:demo-pat-north-secret')}` },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'https://bay-booking.example/golf/bookings',
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

async function statusOfBooking(id: string): Promise<number> {
  const headers = { Authorization: `Bearer ${await token()}` };
  return (await fetch(`${installation.bookings}/api/bookings/${id}`, { headers })).status;
}

async function allEnd(pids: readonly number[]): Promise<void> {
  for (const pid of pids) expect(await waitForEnd(pid, 40_000)).toBe(true);
}

describe('start and stop', () => {
  test(
    'the printed command books a bay, SIGTERM stops everything, and the data survive a restart',
    async () => {
      const first = start();
      await first.ready();
      const booking = await runPrintedCommand(first);
      expect(booking.bayId).toBe('bay-n1-10');
      expect((await runPrintedCommand(first)).id).not.toBe(booking.id);
      const pids = processesOf(installation);
      expect(pids).toHaveLength(4);
      first.signal('SIGTERM');
      expect(await first.ended).toBe(0);
      expect(running(pids)).toEqual([]);
      expect(await portIsFree(installation.authPort)).toBe(true);
      expect(await portIsFree(installation.bookingsPort)).toBe(true);
      expect(first.errors()).toBe('');

      const second = start();
      await second.ready();
      expect(await statusOfBooking(booking.id)).toBe(200);
    },
    LIMIT_MS,
  );

  test(
    'the services run with the Node flags of their start.sh',
    async () => {
      const launcher = start();
      await launcher.ready();
      const [, auth, bookings] = processesOf(installation) as [number, number, number, number];
      expect(commandLine(auth).trim()).toBe(nodeCommand('auth'));
      expect(commandLine(bookings).trim()).toBe(nodeCommand('bookings'));
    },
    LIMIT_MS,
  );

  test(
    'the demo is loaded as soon as the services are ready',
    async () => {
      start();
      const isReady = (base: string) =>
        fetch(`${base}/health/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      while (!(await isReady(installation.auth))) await pause(5);
      const access = await token();
      while (!(await isReady(installation.bookings))) await pause(5);
      const bays = await fetch(`${installation.bookings}/api/booking-bays`, {
        headers: { Authorization: `Bearer ${access}` },
      });
      expect(((await bays.json()) as { total: number }).total).toBe(16);
    },
    LIMIT_MS,
  );

  test(
    'when npm runs the launcher, SIGINT and a kill -9 of npm both stop everything',
    async () => {
      const first = start({ npm: true });
      await first.ready();
      const pids = processesOf(installation);
      first.signal('SIGINT');
      await first.ended;
      await allEnd(pids);
      const second = start({ npm: true });
      await second.ready();
      const others = processesOf(installation);
      second.signal('SIGKILL');
      await allEnd(others);
      expect(running(others)).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    'SIGTERM during the start leaves no process',
    async () => {
      const launcher = start();
      await once(launcher.child.stdout as NodeJS.ReadableStream, 'data');
      launcher.signal('SIGTERM');
      expect(await launcher.ended).toBe(0);
      expect(running(processesOf(installation))).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    'when a service ends unexpectedly, everything stops with exit code 1',
    async () => {
      const launcher = start();
      await launcher.ready();
      const pids = processesOf(installation);
      process.kill(pids[1] as number, 'SIGKILL');
      expect(await launcher.ended).toBe(1);
      expect(launcher.errors()).toMatch(/^(auth|bookings) has ended with SIGKILL\n$/);
      expect(running(pids)).toEqual([]);
    },
    LIMIT_MS,
  );
});

describe('after a kill -9 of the launcher', () => {
  test(
    'the next start, immediately afterwards, stops the old processes and uses the data',
    async () => {
      const first = start();
      await first.ready();
      const { id } = await runPrintedCommand(first);
      const pids = processesOf(installation);
      process.kill(launcherPid(installation), 'SIGKILL');
      const second = start();
      await second.ready();
      expect(running(pids)).toEqual([]);
      expect(await statusOfBooking(id)).toBe(200);
    },
    LIMIT_MS,
  );

  test(
    'the services and PostgreSQL end by themselves',
    async () => {
      const launcher = start();
      await launcher.ready();
      const pids = processesOf(installation);
      process.kill(launcherPid(installation), 'SIGKILL');
      await allEnd(pids);
    },
    LIMIT_MS,
  );
});

describe('errors with exit code 1 and one line for each problem', () => {
  test('a port that another program uses', async () => {
    const other = createServer().listen(installation.bookingsPort);
    await once(other, 'listening');
    const launcher = start();
    const code = await launcher.ended;
    other.close();
    expect(code).toBe(1);
    expect(launcher.errors()).toBe(
      `port ${installation.bookingsPort} is taken: stop what listens there, or choose another with BOOKINGS_PORT\n`,
    );
    expect(launcher.output()).toBe('');
  });

  test(
    'a second start with the same DATA_DIR, while the first continues',
    async () => {
      const first = start();
      await first.ready();
      const second = start();
      expect(await second.ended).toBe(1);
      expect(second.errors()).toMatch(/^npm start is already running: process \d+ uses .*\n$/);
      const elsewhere = { ...(await createInstallation()), authPort: installation.authPort };
      const third = start({ in: elsewhere });
      expect(await third.ended).toBe(1);
      expect(third.errors()).toMatch(/^port \d+ is taken: .* AUTH_PORT\n$/);
      await cleanUp(elsewhere, []);
      expect((await runPrintedCommand(first)).bayId).toBe('bay-n1-10');
    },
    LIMIT_MS,
  );

  test('invalid settings, each with its name', async () => {
    const launcher = start({ env: { AUTH_PORT: 'abc', DATABASE_SERVER_URL: 'localhost' } });
    expect(await launcher.ended).toBe(1);
    expect(launcher.errors()).toBe(
      'AUTH_PORT must be a port number from 1 to 65535, not "abc"\n' +
        'DATABASE_SERVER_URL must look like postgres://user:password@host:port/postgres\n',
    );
  });

  test('a DATA_DIR that cannot be created', async () => {
    for (const dataDir of ['/proc/bay-booking/data', '/dev/null/data']) {
      const launcher = start({ env: { DATA_DIR: dataDir } });
      expect(await launcher.ended).toBe(1);
      expect(launcher.errors()).toMatch(/^DATA_DIR \S+ cannot be used by user .*\n$/);
    }
  });

  test('a database server that cannot be reached', async () => {
    const launcher = start({ env: { DATABASE_SERVER_URL: 'postgres://postgres:x@127.0.0.1:1/postgres' } });
    expect(await launcher.ended).toBe(1);
    expect(launcher.errors()).toMatch(
      /^cannot connect to PostgreSQL at 127\.0\.0\.1:1 as postgres: .*ECONNREFUSED.*\n$/,
    );
  });
});

describe('databases', () => {
  test(
    'each service has its own database and a role that may only read and write rows; secret files have mode 0600',
    async () => {
      const launcher = start();
      await launcher.ready();
      const secrets = JSON.parse(readFileSync(join(installation.dataDir, 'secrets.json'), 'utf8'));
      expect(statSync(join(installation.dataDir, 'secrets.json')).mode & 0o777).toBe(0o600);
      const port = readPostmaster(join(installation.dataDir, 'postgres'))?.port;
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
        expect((await client.query('select from bay')).rowCount).toBe(21);
        await expect(client.query('create table mine (n int)')).rejects.toThrow('permission denied');
        await expect(client.query('drop table bay')).rejects.toThrow('must be owner');
      } finally {
        await client.end();
      }
      await expect(connect('bookings_service', 'auth')).rejects.toThrow('permission denied');
    },
    LIMIT_MS,
  );

  test(
    'two launchers with different DATA_DIR can use one DATABASE_SERVER_URL, and NODE_ENV=production loads no demo',
    async () => {
      const server = await startEmbeddedPostgres({ fsync: false });
      const elsewhere = { ...installation, dataDir: join(installation.dataDir, 'elsewhere') };
      try {
        for (const where of [installation, elsewhere]) {
          const env = { DATABASE_SERVER_URL: server.url, NODE_ENV: 'production', MAIL: 'off' };
          const launcher = start({ in: where, env });
          await launcher.ready();
          expect(launcher.output()).toContain(`PostgreSQL at 127.0.0.1:${server.port}`);
          expect(launcher.output()).not.toContain('demo-');
          expect((await fetch(`${installation.auth}/connect/jwks`)).status).toBe(200);
          launcher.signal('SIGTERM');
          expect(await launcher.ended).toBe(0);
        }
        const client = new pg.Client(server.url);
        await client.connect();
        const { rows } = await client.query(`select datname from pg_database where datname in ('auth', 'bookings')`);
        await client.end();
        expect(rows).toHaveLength(2);
      } finally {
        await server.stop();
      }
    },
    LIMIT_MS,
  );
});
