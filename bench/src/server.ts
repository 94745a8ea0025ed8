// Runs the PostgreSQL server of the measurement, with fsync as in production.
import { totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { onDatabase } from './dataset.ts';

export async function startServer(log: (line: string) => void) {
  const server = await startEmbeddedPostgres({
    dataDir: process.env.DATA_DIR ?? fileURLToPath(new URL('../.data/postgres', import.meta.url)),
    watchdog: true,
    onProgress: log,
    settings: {
      // An eighth of the memory, but at most 2 GB.
      shared_buffers: `${Math.min(2048, Math.floor(totalmem() / 2 ** 23))}MB`,
      max_connections: 300,
      // These two make it faster to load a dataset.
      maintenance_work_mem: '512MB',
      max_wal_size: '8GB',
    },
  });
  const query = async (sql: string) => (await onDatabase(server.url, (client) => client.query(sql))).rows;
  const [{ pid, version }] = await query(`select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid,
    current_setting('server_version') as version`);
  return {
    pid: pid as number,
    version: version as string,
    /** Creates an empty database, which replaces that of an earlier run, and returns its URL. */
    createDatabase: async (name: string): Promise<string> => {
      await query(`drop database if exists ${name}`);
      await query(`create database ${name}`);
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
    },
    hasDeadlocks: async () => (await query('select from pg_stat_database where deadlocks > 0')).length > 0,
    stop: server.stop,
  };
}
