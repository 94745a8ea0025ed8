// Runs the PostgreSQL server of the measurement, with fsync as in production, and creates its databases.
// A dataset is loaded once a day and copied for each run, so no run has to remove what it wrote.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { type Dataset, dayStart, loadDataset, onDatabase } from './dataset.ts';

export async function startServer(log: (line: string) => void) {
  const eighthOfMemory = Math.floor(totalmem() / 2 ** 20 / 8);
  const server = await startEmbeddedPostgres({
    dataDir: process.env.DATA_DIR ?? fileURLToPath(new URL('../.data/postgres', import.meta.url)),
    watchdog: true,
    onProgress: log,
    settings: {
      shared_buffers: `${Math.min(2048, eighthOfMemory)}MB`,
      // These two make it faster to load a dataset.
      maintenance_work_mem: '512MB',
      max_wal_size: '8GB',
      max_connections: 300,
    },
  });
  const query = async (sql: string) => (await onDatabase(server.url, (client) => client.query(sql))).rows;
  const urlOf = (name: string): string => Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  const [{ pid, version }] = await query(`select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid,
    current_setting('server_version') as version`);
  const loadedToday = `loaded_${dayStart(0).slice(0, 10).replaceAll('-', '_')}`;
  // Databases of earlier runs and days.
  const old = await query(`select datname from pg_database
    where datname ~ '^(run|loading|loaded)_' and not starts_with(datname, '${loadedToday}')`);
  for (const { datname } of old) await query(`drop database ${datname}`);
  let databases = 0;

  async function createDatabase(template = 'template1'): Promise<string> {
    databases += 1;
    await query(`create database run_${databases} template ${template} strategy file_copy`);
    return urlOf(`run_${databases}`);
  }

  /** Creates a database with the dataset, for a release. */
  async function createLoadedDatabase(dataset: Dataset, release: string): Promise<string> {
    const loaded = `${loadedToday}_${dataset.bookings}_${schemaOf(release)}`;
    const found = await query(`select from pg_database where datname = '${loaded}'`);
    if (found.length === 0) {
      log(`loading ${dataset.bookings} bookings, about a minute per million`);
      await query(`create database loading_${dataset.bookings}`);
      await loadDataset(urlOf(`loading_${dataset.bookings}`), dataset, release);
      await query(`alter database loading_${dataset.bookings} rename to ${loaded}`);
    }
    return createDatabase(loaded);
  }

  const hasDeadlocks = async (): Promise<boolean> =>
    (await query("select from pg_stat_database where datname like 'run_%' and deadlocks > 0")).length > 0;

  return {
    pid: pid as number,
    version: version as string,
    createDatabase,
    createLoadedDatabase,
    hasDeadlocks,
    stop: server.stop,
  };
}

/** Returns a hash of the migrations, so that releases with different tables get different databases. */
function schemaOf(release: string): string {
  const folder = join(release, 'apps/bookings/migrations');
  const hash = createHash('sha256');
  for (const file of readdirSync(folder)) hash.update(readFileSync(join(folder, file)));
  return hash.digest('hex').slice(0, 8);
}
