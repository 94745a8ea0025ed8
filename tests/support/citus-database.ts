// Which database do the tests of the cluster break? Both services' databases on the coordinator, made by infra/postgres/service.sql as in
// production, that of bookings on every node.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type CitusCluster, startCitusCluster } from './citus-cluster.ts';
import { type AppName, command, demo, queryOnce, type StoppableDatabase } from './services.ts';

const script = join(import.meta.dirname, '../../infra/postgres/service.sql');
const run = promisify(execFile);

export interface CitusDatabase extends StoppableDatabase {
  readonly cluster: CitusCluster;
}

export const distribute = (database: CitusDatabase): Promise<string> =>
  command('bookings', { DATABASE_URL: database.ownerUrlOf('bookings') }, 'distribute.ts');

export async function startDistributedDatabase(programs: string): Promise<CitusDatabase> {
  const database = await startCitusDatabase(programs);
  await database.cluster.join('bookings');
  await distribute(database);
  return database;
}

/** Nothing is spread yet. */
export async function startCitusDatabase(programs: string): Promise<CitusDatabase> {
  const cluster = await startCitusCluster(programs);
  const [coordinator] = cluster.urlsOf('postgres');
  const port = Number(new URL(coordinator).port);
  const prepare = (app: AppName, server: string) =>
    run(
      join(programs, 'psql'),
      ['-q', '-v', 'ON_ERROR_STOP=1', '-v', `name=${app}`, ...passwords, '-f', script, server],
      { timeout: 30_000 },
    );
  const ownerUrlOf = (app: AppName): string => `postgres://${app}_owner:fault@127.0.0.1:${port}/${app}`;
  for (const role of ['bookings_owner', 'bookings_service']) cluster.admit(role, 'fault');
  await prepare('auth', coordinator);
  for (const server of cluster.urlsOf('postgres')) await prepare('bookings', server);
  for (const app of ['auth', 'bookings'] as const) {
    await command(app, { DATABASE_URL: ownerUrlOf(app) }, 'migrate.ts');
    await command(app, { DATABASE_URL: ownerUrlOf(app) }, 'import.ts', await demo(app));
  }
  return {
    cluster,
    port,
    urlOf: (app, through = port) => `postgres://${app}_service:fault@127.0.0.1:${through}/${app}`,
    ownerUrlOf,
    query: (database, sql, values) => queryOnce(cluster.urlsOf(database)[0], sql, values),
    start: cluster.coordinator.start,
    stop: cluster.coordinator.stop,
    kill: () => cluster.coordinator.crash('SIGKILL'),
    remove: () => cluster.stop(),
  };
}

const passwords = ['-v', 'owner_password=fault', '-v', 'service_password=fault'];
