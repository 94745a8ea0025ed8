// Provides the PostgreSQL server of the measurement. This is either the server of DATABASE_URL, or an embedded server
// with a database for each size of the dataset. As in production, the embedded server writes commits to disk (fsync).
import { existsSync } from 'node:fs';
import { totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import pg from 'pg';

export interface MeasuredServer {
  /** Returns the URL of the database with this name. If DATABASE_URL is set, returns DATABASE_URL for every name. */
  database(name: string): Promise<string>;
  /** The process id of the embedded server. Undefined if DATABASE_URL is set, and on systems without /proc. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string | undefined;
  /** Further settings of PostgreSQL for an embedded server. */
  readonly settings?: Record<string, string>;
  readonly log: (line: string) => void;
}

export async function startServer({
  databaseUrl,
  dataDir,
  settings = {},
  log,
}: ServerOptions): Promise<MeasuredServer> {
  if (databaseUrl) {
    return { database: async () => databaseUrl, pid: undefined, stop: async () => {} };
  }
  // An eighth of the memory of this machine, but at most 2 GB.
  const buffersMb = Math.min(2048, Math.floor(totalmem() / 2 ** 20 / 8));
  const server = await startEmbeddedPostgres({
    dataDir: dataDir ?? fileURLToPath(new URL('../.data/postgres', import.meta.url)),
    // Stops the server if the benchmark is killed.
    watchdog: true,
    onProgress: log,
    // `maintenance_work_mem` and `max_wal_size` make it faster to load the dataset and to build its indexes.
    settings: { shared_buffers: `${buffersMb}MB`, maintenance_work_mem: '512MB', max_wal_size: '8GB', ...settings },
  });
  // The first line of postmaster.pid is the process id of the server.
  const pid = await onDatabase(server.url, async (client) => {
    const { rows } = await client.query<{ pid: string }>(
      "select (string_to_array(pg_read_file('postmaster.pid'), E'\\n'))[1] as pid",
    );
    return Number(rows[0]?.pid);
  });
  return {
    pid: existsSync(`/proc/${pid}`) ? pid : undefined,
    database: async (name) => {
      await onDatabase(server.url, async (client) => {
        const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
        if (!rowCount) await client.query(`create database ${name}`);
      });
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    stop: server.stop,
  };
}

/** Runs `work` with a connection to the database, which is closed afterwards. */
export async function onDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, application_name: 'bench' });
  // Without a listener, a lost connection would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
