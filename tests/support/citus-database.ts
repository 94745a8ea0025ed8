// Creates the databases of both services on a Citus cluster with infra/postgres/service.sql, as in production. The
// database of bookings exists on every node.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { queryOnce } from '@bay-booking/testkit/database';
import { type CitusCluster, startCitusCluster } from './citus-cluster.ts';
import { type AppName, readDemo, runCommand } from './commands.ts';
import { rolePassword, type StoppableDatabase, serviceUrls } from './database-server.ts';

const script = join(import.meta.dirname, '../../infra/postgres/service.sql');
/** Arguments of psql. The script reads the passwords of the two roles from these variables. */
const passwords = ['-v', `owner_password=${rolePassword}`, '-v', `service_password=${rolePassword}`];
const run = promisify(execFile);

export interface CitusDatabase extends StoppableDatabase {
  readonly cluster: CitusCluster;
}

/** Runs the command of bookings that distributes the tables. Returns the output of the command. */
export const distribute = (database: CitusDatabase): Promise<string> =>
  runCommand('bookings', { DATABASE_URL: database.ownerUrlOf('bookings') }, 'distribute.ts');

/**
 * Starts a cluster with the databases of both services, and distributes the tables of bookings. `programs` is the
 * folder with the programs of a PostgreSQL that has the extension Citus.
 */
export async function startDistributedDatabase(programs: string): Promise<CitusDatabase> {
  const database = await startCitusDatabase(programs);
  // The database `bookings` exists on every node. This call joins these databases to one Citus cluster.
  await database.cluster.join('bookings');
  await distribute(database);
  return database;
}

/** Starts a cluster with the databases of both services. The tables of bookings are not distributed yet. */
export async function startCitusDatabase(programs: string): Promise<CitusDatabase> {
  const cluster = await startCitusCluster(programs);
  const [coordinator] = cluster.urlsOf('postgres');
  const port = Number(new URL(coordinator).port);
  /** Creates the database and the roles of an app on a node. */
  const prepare = (app: AppName, server: string) =>
    run(
      join(programs, 'psql'),
      ['-q', '-v', 'ON_ERROR_STOP=1', '-v', `name=${app}`, ...passwords, '-f', script, server],
      { timeout: 30_000 },
    );
  const ownerUrlOf = (app: AppName): string => `postgres://${app}_owner:${rolePassword}@127.0.0.1:${port}/${app}`;
  // The nodes connect to each other as the role that runs a statement.
  for (const role of ['bookings_owner', 'bookings_service']) cluster.allowRole(role, rolePassword);
  await prepare('auth', coordinator);
  for (const server of cluster.urlsOf('postgres')) await prepare('bookings', server);
  for (const app of ['auth', 'bookings'] as const) {
    await runCommand(app, { DATABASE_URL: ownerUrlOf(app) }, 'migrate.ts');
    await runCommand(app, { DATABASE_URL: ownerUrlOf(app) }, 'import.ts', await readDemo(app));
  }
  return {
    cluster,
    port,
    urlOf: serviceUrls(port),
    ownerUrlOf,
    query: (database, sql, values) => queryOnce(cluster.urlsOf(database)[0], sql, values),
    start: cluster.coordinator.start,
    stop: cluster.coordinator.stop,
    kill: () => cluster.coordinator.crash('SIGKILL'),
    remove: () => cluster.stop(),
  };
}
