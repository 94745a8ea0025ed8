// Starts a Citus cluster for tests: a coordinator and two workers, in a temporary folder and on free ports. The machine
// must have a PostgreSQL with the extension Citus (docs/operations/scale.md).
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as pathOf } from 'node:path';
import { serverAccount } from '@bay-booking/postgres/account';
import { freePorts } from '@bay-booking/postgres/ports';
import { readPostmaster } from '@bay-booking/postgres/postmaster';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { watchOver } from '@bay-booking/postgres/watchdog';
import { queryOnce } from '@bay-booking/testkit/database';
import { crash } from './database-server.ts';

/** The PostgreSQL settings of every node. */
const nodeSettings = {
  shared_preload_libraries: 'citus',
  'citus.node_conninfo': 'sslmode=disable',
  'citus.local_hostname': '127.0.0.1',
  // Citus needs logical replication to move shards under load, and prepared transactions to commit on several nodes.
  wal_level: 'logical',
  // Every session of the coordinator opens sessions on the workers, and prepares transactions there.
  max_connections: 300,
  max_prepared_transactions: 300,
  max_worker_processes: 64,
  max_replication_slots: 64,
  max_wal_senders: 64,
  // With fewer shards than the default of 32, tables are distributed faster.
  'citus.shard_count': 8,
  // The interval at which Citus completes the two-phase commits that a crash has interrupted.
  'citus.recover_2pc_interval': '5s',
  log_min_messages: 'warning',
};

export type CitusCluster = Awaited<ReturnType<typeof startCitusCluster>>;

export async function startCitusCluster(programs: string) {
  const folder = await mkdtemp(pathOf(tmpdir(), 'bay-booking-citus-'));
  // The user that runs PostgreSQL must be able to enter the folder.
  await chmod(folder, 0o711);
  const ports = await freePorts(3);
  // The nodes read this file (PGPASSFILE). Its lines have the form host:port:database:role:password.
  const passwordFile = pathOf(folder, 'passwords');
  const passwordLines: string[] = [];
  /** Gives the password of a role to all nodes, so that the nodes can connect to each other as this role. */
  const allowRole = (role: string, password: string): void => {
    passwordLines.push(`127.0.0.1:*:*:${role}:${password}`);
    writeFileSync(passwordFile, `${passwordLines.join('\n')}\n`, { mode: 0o600 });
    const account = serverAccount(folder);
    if (account) chownSync(passwordFile, account.uid, account.gid);
  };
  const startServer = (index: number): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({
      dataDir: pathOf(folder, `node-${index}`, 'data'),
      port: ports[index],
      fsync: false,
      watchdog: true,
      programs,
      environment: { PGPASSFILE: passwordFile },
      settings: nodeSettings,
    });
  const servers = await Promise.all(ports.map((_, index) => startServer(index)));
  const [coordinator, ...workers] = servers as [EmbeddedPostgres, ...EmbeddedPostgres[]];
  // If this process is killed, the cleaner deletes the folder after the coordinator has stopped. The watchdogs of the
  // servers stop only the servers.
  const cleaner = watchOver(readPostmaster(coordinator.dataPath)?.pid as number, [folder]);
  // All nodes need the same superuser password, because the coordinator uses its password to sign in to the workers.
  const { password } = new URL(coordinator.url);
  for (const { url } of workers) await queryOnce(url, `alter role postgres password '${password}'`);
  allowRole('postgres', password);
  /** Returns the superuser's URLs of a database: first the URL on the coordinator, then the URLs on the workers. */
  const urlsOf = (database: string) =>
    ports.map((port) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`) as [string, ...string[]];
  /** Joins the nodes to a cluster in the database with this name. The database must exist on every node. */
  const join = async (database: string): Promise<void> => {
    const urls = urlsOf(database);
    await Promise.all(urls.map((url) => queryOnce(url, 'create extension citus')));
    await queryOnce(urls[0], `select citus_set_coordinator_host('127.0.0.1', ${ports[0]})`);
    for (const port of ports.slice(1)) await queryOnce(urls[0], `select citus_add_node('127.0.0.1', ${port})`);
  };
  await join('postgres');
  const nodeAt = (index: number) => {
    // A function, because `start` replaces the server.
    const server = () => servers[index] as EmbeddedPostgres;
    return {
      port: server().port,
      start: async () => {
        servers[index] = await startServer(index);
      },
      stop: () => server().stop(),
      /** Ends the node without a clean shutdown. Its next start recovers from the write-ahead log. */
      crash: (signal: 'SIGQUIT' | 'SIGKILL') => crash(server(), signal),
    };
  };
  return {
    /** The URL of the coordinator's database `postgres`, to which the workers were added. */
    url: urlsOf('postgres')[0],
    coordinator: nodeAt(0),
    workers: workers.map((_, index) => nodeAt(index + 1)),
    urlsOf,
    join,
    allowRole,
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      await cleaner.dismiss();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
