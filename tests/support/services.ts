// What do the fault tests break? A PostgreSQL server that can be stopped and killed, and instances of both services as real processes,
// each of which can be killed, told to stop and read: its log and its metrics.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '@bay-booking/postgres/ports';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import pg from 'pg';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

export type AppName = 'auth' | 'bookings';

/** @throws {Error} when `look` has found nothing within the limit */
export async function eventually<T>(look: () => Promise<T | undefined | false>, limit = 30_000): Promise<T> {
  const end = performance.now() + limit;
  for (;;) {
    const found = await look().catch(() => undefined);
    if (found) return found;
    if (performance.now() > end) throw new Error(`what was waited for did not come within ${limit} ms`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Milliseconds until `look` finds something. */
export async function timeUntil(look: () => Promise<unknown>, limit?: number): Promise<number> {
  const start = performance.now();
  await eventually(look as () => Promise<true>, limit);
  return Math.round(performance.now() - start);
}

export interface TestDatabase {
  readonly port: number;
  readonly urlOf: (app: AppName, port?: number) => string;
  /** For migrations. */
  readonly ownerUrlOf: (app: AppName) => string;
  readonly query: (database: AppName | 'postgres', sql: string, values?: unknown[]) => Promise<pg.QueryResult>;
  readonly remove: () => Promise<void>;
}

export interface StoppableDatabase extends TestDatabase {
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** kill -9 of the postmaster: its children follow, without a checkpoint. */
  readonly kill: () => Promise<void>;
}

export interface DatabaseServer extends StoppableDatabase {
  readonly dataPath: string;
}

/** Both databases, migrated and with the demo, and per database a role that may read and write rows, with the limits of production. */
export async function startDatabaseServer(settings: Record<string, string> = {}): Promise<DatabaseServer> {
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-faults-'));
  await chmod(folder, 0o711);
  const [port] = (await freePorts(1)) as [number];
  const boot = () => startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), port, fsync: false, settings });
  let server: EmbeddedPostgres = await boot();
  const admin = (database: string): string => server.url.replace(/\/postgres$/, `/${database}`);
  const query = (database: string, sql: string, values: unknown[] = []) => queryOnce(admin(database), sql, values);
  for (const app of ['auth', 'bookings'] as const) {
    await query('postgres', `create database ${app}`);
    await query('postgres', `create role ${app}_service login password 'fault'`);
    await command(app, { DATABASE_URL: admin(app) }, 'migrate.ts');
    await query(app, `grant select, insert, update, delete on all tables in schema public to ${app}_service`);
    await query(app, `grant usage on all sequences in schema public to ${app}_service`);
    for (const limit of [
      "statement_timeout = '5s'",
      "lock_timeout = '2s'",
      "idle_in_transaction_session_timeout = '10s'",
    ])
      await query(app, `alter role ${app}_service set ${limit}`);
    await command(app, { DATABASE_URL: admin(app) }, 'import.ts', await demo(app));
  }
  return {
    port,
    dataPath: server.dataPath,
    urlOf: (app, through = port) => `postgres://${app}_service:fault@127.0.0.1:${through}/${app}`,
    ownerUrlOf: admin,
    query,
    start: async () => {
      server = await boot();
    },
    stop: () => server.stop(),
    kill: async () => {
      const [pid] = (await readFile(join(server.dataPath, 'postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), 'SIGKILL');
      await server.ended;
      await server.stop();
    },
    remove: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function queryOnce(url: string, sql: string, values: unknown[] = []): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return await client.query(sql, values);
  } finally {
    await client.end();
  }
}

export const demo = async (app: AppName): Promise<string> =>
  (await readFile(join(root, `packages/local/demo/${app}.json`), 'utf8')).replaceAll(
    '{scope_base}',
    'https://bay-booking.example',
  );

/** One of the app's own commands; answers what it printed. */
export async function command(
  app: AppName,
  environment: Record<string, string>,
  file: string,
  input = '',
  args: readonly string[] = input ? ['-'] : [],
): Promise<string> {
  const running = run(process.execPath, [`src/commands/${file}`, ...args], {
    cwd: join(root, 'apps', app),
    env: { PATH: process.env.PATH, ...environment },
    timeout: 60_000,
  });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

export interface Instance {
  readonly base: string;
  readonly child: ChildProcess;
  readonly log: () => readonly Record<string, unknown>[];
  /** The sum of the samples whose line matches. */
  readonly metric: (sample: RegExp) => Promise<number>;
  readonly ready: () => Promise<boolean>;
  /** The exit code, or null when a signal ended it. */
  readonly stop: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number | null>;
}

const running = new Set<Instance>();

export interface InstanceOptions {
  readonly port?: number;
  readonly waitFor?: 'live' | 'ready';
  /** A file that gets the log instead of the test. */
  readonly logTo?: number;
}

export async function startInstance(
  app: AppName,
  environment: Record<string, string>,
  { port, waitFor = 'ready', logTo }: InstanceOptions = {},
): Promise<Instance> {
  const listen = port ?? ((await freePorts(1)) as [number])[0];
  const base = `http://localhost:${listen}`;
  const child = spawn(process.execPath, ['src/main.ts'], {
    cwd: join(root, 'apps', app),
    env: { PATH: process.env.PATH, PORT: String(listen), ...environment },
    stdio: ['ignore', logTo ?? 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => (output += text));
  let complaints = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => (complaints += text));
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const instance: Instance = {
    base,
    child,
    log: () =>
      output
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line)),
    metric: async (sample) => {
      const text = await (await fetch(`${base}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
      return text
        .split('\n')
        .filter((line) => sample.test(line))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    },
    ready: () => answers(`${base}/health/ready`),
    stop: async (signal) => {
      running.delete(instance);
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return (await exited)[0];
    },
  };
  running.add(instance);
  try {
    await eventually(() => answers(`${base}/health/${waitFor}`));
  } catch (error) {
    throw new Error(`${app} did not start:\n${complaints}${output}`, { cause: error });
  }
  return instance;
}

const answers = async (url: string): Promise<boolean> => (await fetch(url, { signal: AbortSignal.timeout(5_000) })).ok;

/** Whatever still runs. */
export async function stopInstances(): Promise<void> {
  await Promise.all([...running].map((instance) => instance.stop('SIGKILL')));
}
