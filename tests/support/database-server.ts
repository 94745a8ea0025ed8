// Starts a PostgreSQL server with the databases of both services. Tests can stop it, kill it and start it again. Also
// contains functions that work with every server of the tests, such as the servers of a Citus cluster.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@bay-booking/postgres/ports';
import { readPostmaster } from '@bay-booking/postgres/postmaster';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { migrate } from '@bay-booking/service/database/migrate';
import { queryOnce } from '@bay-booking/testkit/database';
import { root } from '@bay-booking/testkit/repository';
import type pg from 'pg';
import { type AppName, readDemo, runCommand } from './commands.ts';

/** The password of the roles with which the services connect. */
export const rolePassword = 'test';

export interface TestDatabase {
  readonly port: number;
  /**
   * Returns the URL with which a service connects. The role in this URL may only read and write rows. `port` may be the
   * port of a proxy. Default: the port of the server.
   */
  readonly urlOf: (app: AppName, port?: number) => string;
  /** Returns the URL for migrations. The role in this URL is the superuser, which owns the tables. */
  readonly ownerUrlOf: (app: AppName) => string;
  /** Runs a statement as the superuser. */
  readonly query: (database: AppName | 'postgres', sql: string, values?: unknown[]) => Promise<pg.QueryResult>;
  /** Stops the server and deletes its data. */
  readonly remove: () => Promise<void>;
}

export interface StoppableDatabase extends TestDatabase {
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** Kills the server, which then cannot write a checkpoint. The next start recovers from the write-ahead log. */
  readonly kill: () => Promise<void>;
}

export interface DatabaseServer extends StoppableDatabase {
  readonly dataPath: string;
}

/**
 * Starts a server with both databases, which contain the demo. The roles of the services have the same timeouts as in
 * production. `settings` are settings of PostgreSQL. The data are a copy of those that global-setup.ts has created once
 * for all test files.
 */
export async function startDatabaseServer(settings: Record<string, string> = {}): Promise<DatabaseServer> {
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-tests-'));
  // If root runs the tests, PostgreSQL runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  const template = process.env.TEST_DATA_TEMPLATE;
  if (template) await promisify(execFile)('cp', ['-a', `${template}/.`, folder]);
  const port = await freePort();
  // Without fsync, the server is faster. Fsync is only needed if the machine fails, and not if a process is killed.
  const boot = () => startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), port, fsync: false, settings });
  let server: EmbeddedPostgres = await boot();
  const ownerUrlOf = (database: string): string => server.url.replace(/\/postgres$/, `/${database}`);
  const query = (database: string, sql: string, values: unknown[] = []) => queryOnce(ownerUrlOf(database), sql, values);
  if (!template) {
    const apps = ['auth', 'bookings'] as const;
    await Promise.all(apps.map((app) => createServiceDatabase(app, ownerUrlOf, query)));
  }
  return {
    port,
    dataPath: server.dataPath,
    urlOf: serviceUrls(port),
    ownerUrlOf,
    query,
    start: async () => {
      server = await boot();
    },
    stop: () => server.stop(),
    kill: () => crash(server, 'SIGKILL'),
    remove: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Creates the database of a service with its role and its tables, and imports the demo data. */
async function createServiceDatabase(
  app: AppName,
  ownerUrlOf: TestDatabase['ownerUrlOf'],
  query: TestDatabase['query'],
): Promise<void> {
  await query('postgres', `create database ${app}`);
  await query('postgres', `create role ${app}_service login password '${rolePassword}'`);
  await migrate({ url: ownerUrlOf(app), directory: join(root, 'apps', app, 'migrations') });
  await query(app, `grant select, insert, update, delete on all tables in schema public to ${app}_service`);
  await query(app, `grant usage on all sequences in schema public to ${app}_service`);
  for (const timeout of [
    "statement_timeout = '5s'",
    "lock_timeout = '2s'",
    "idle_in_transaction_session_timeout = '10s'",
  ])
    await query(app, `alter role ${app}_service set ${timeout}`);
  await runCommand(app, { DATABASE_URL: ownerUrlOf(app) }, 'import.ts', await readDemo(app));
}

/**
 * Returns the function `urlOf` for the server at this port. `urlOf` returns the URL with which an app connects to its
 * database.
 */
export const serviceUrls =
  (databasePort: number) =>
  (app: AppName, port = databasePort): string =>
    `postgres://${app}_service:${rolePassword}@127.0.0.1:${port}/${app}`;

/**
 * Ends a server without a clean shutdown. SIGKILL kills only the main process, and the other processes notice this
 * later. SIGQUIT makes the main process end all other processes first.
 */
export async function crash(server: EmbeddedPostgres, signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
  process.kill(readPostmaster(server.dataPath)?.pid as number, signal);
  await server.ended;
  // The process has ended already, so `stop` only releases the lock of the data directory.
  await server.stop();
}
