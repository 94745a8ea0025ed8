// Where does bookings run when its tables are spread over several servers? A coordinator and two workers of a PostgreSQL on this machine
// that has the extension Citus, in a temporary folder and on free ports, without fsync. See docs/operations/scale.md.
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as pathOf } from 'node:path';
import { serverAccount } from '@bay-booking/postgres/account';
import { freePorts } from '@bay-booking/postgres/ports';
import { readPostmaster } from '@bay-booking/postgres/postmaster';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { watchOver } from '@bay-booking/postgres/watchdog';
import pg from 'pg';

export interface CitusNode {
  readonly port: number;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** SIGQUIT is the immediate shutdown. After either the next start recovers from the log. */
  readonly crash: (signal: 'SIGQUIT' | 'SIGKILL') => Promise<void>;
}

export interface CitusCluster {
  /** Where psql is too. */
  readonly programs: string;
  /** Of the coordinator's database `postgres`, which knows the workers. */
  readonly url: string;
  readonly coordinator: CitusNode;
  readonly workers: readonly CitusNode[];
  /** That database on the coordinator and on each worker, as the superuser. */
  readonly urlsOf: (database: string) => readonly [string, ...string[]];
  /** Makes one of the databases of that name, which every node has. */
  readonly join: (database: string) => Promise<void>;
  /** Nodes sign in to each other as this role too. */
  readonly admit: (role: string, password: string) => void;
  readonly stop: () => Promise<void>;
}

export async function startCitusCluster(programs: string): Promise<CitusCluster> {
  const folder = await mkdtemp(pathOf(tmpdir(), 'bay-booking-citus-'));
  await chmod(folder, 0o711);
  const ports = await freePorts(3);
  const passwords = pathOf(folder, 'passwords');
  const admitted: string[] = [];
  const admit = (line: string): void => {
    admitted.push(line);
    writeFileSync(passwords, `${admitted.join('\n')}\n`, { mode: 0o600 });
    const account = serverAccount(folder);
    if (account) chownSync(passwords, account.uid, account.gid);
  };
  const boot = (index: number): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({
      dataDir: pathOf(folder, `node-${index}`, 'data'),
      port: ports[index],
      fsync: false,
      watchdog: true,
      programs,
      environment: { PGPASSFILE: passwords },
      settings: {
        shared_preload_libraries: 'citus',
        'citus.node_conninfo': 'sslmode=disable',
        'citus.local_hostname': '127.0.0.1',
        // Moving a shard while it is written to needs the logical log; a transaction over two servers prepares on each.
        wal_level: 'logical',
        max_connections: 300,
        max_prepared_transactions: 300,
        max_worker_processes: 64,
        max_replication_slots: 64,
        max_wal_senders: 64,
        // What a crash in the middle of a commit left undecided.
        'citus.recover_2pc_interval': '5s',
        log_min_messages: 'warning',
      },
    });
  const servers = await Promise.all(ports.map((_, index) => boot(index)));
  const [coordinator, ...workers] = servers as [EmbeddedPostgres, ...EmbeddedPostgres[]];
  // The servers have watchdogs of their own.
  const cleaner = watchOver(readPostmaster(coordinator.dataPath)?.pid as number, [folder]);
  // Adding a node gives its roles the coordinator's passwords.
  const { password } = new URL(coordinator.url);
  for (const { url } of workers) await run(url, `alter role postgres password '${password}'`);
  admit(`127.0.0.1:*:*:postgres:${password}`);
  const urlsOf = (database: string) =>
    ports.map((port) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`) as [string, ...string[]];
  const join = async (database: string): Promise<void> => {
    const urls = urlsOf(database);
    await Promise.all(urls.map((url) => run(url, 'create extension citus')));
    await run(
      urls[0],
      `select citus_set_coordinator_host('127.0.0.1', ${ports[0]})`,
      ...ports.slice(1).map((port) => `select citus_add_node('127.0.0.1', ${port})`),
    );
  };
  await join('postgres');
  const nodeAt = (index: number): CitusNode => {
    const server = () => servers[index] as EmbeddedPostgres;
    return {
      port: server().port,
      start: async () => {
        servers[index] = await boot(index);
      },
      stop: () => server().stop(),
      crash: async (signal) => {
        process.kill(readPostmaster(server().dataPath)?.pid as number, signal);
        await server().ended;
        await server().stop();
      },
    };
  };
  return {
    programs,
    url: urlsOf('postgres')[0],
    coordinator: nodeAt(0),
    workers: workers.map((_, place) => nodeAt(place + 1)),
    urlsOf,
    join,
    admit: (role, password) => admit(`127.0.0.1:*:*:${role}:${password}`),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      await cleaner.dismiss();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
