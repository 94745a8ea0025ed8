// Makes base backups of a running PostgreSQL server, and starts streaming replicas from them.
//
// PostgreSQL's program for base backups, pg_basebackup, is not part of the embedded PostgreSQL. This module copies the
// files of the server between pg_backup_start and pg_backup_stop, as pg_basebackup does.
import { execFile } from 'node:child_process';
import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '@bay-booking/postgres/ports';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import pg from 'pg';
import { crash, type DatabaseServer, queryOnce } from './database-server.ts';
import { eventually } from './wait.ts';

const run = promisify(execFile);
/**
 * Folders that are copied without their contents. `pg_wal` contains the write-ahead log, which the server on the copy
 * gets by streaming or from the archive. The contents of the other folders are only for the server that is copied.
 */
const emptyFolders = ['pg_wal', 'pg_replslot', 'pg_stat_tmp', 'pg_notify'];
const excludedFiles = new Set([...emptyFolders, 'postmaster.pid', 'postmaster.opts']);

/**
 * Copies the files of `database` to the folder `target`. The files change while they are copied. Before a server can
 * use the copy, PostgreSQL makes the copy consistent by replaying the write-ahead log (WAL).
 */
export async function baseBackup(database: DatabaseServer, target: string): Promise<void> {
  const session = new pg.Client({ connectionString: database.ownerUrlOf('bookings') });
  await session.connect();
  try {
    // With `true`, the backup begins with an immediate checkpoint. Otherwise it could take minutes.
    await session.query("select pg_backup_start('base', true)");
    await mkdir(target, { mode: 0o700 });
    for (const name of await readdir(database.dataPath)) {
      if (!excludedFiles.has(name)) await run('cp', ['-a', join(database.dataPath, name), target]);
    }
    // With `false`, PostgreSQL does not wait until it has archived the write-ahead log.
    const { rows } = await session.query('select labelfile from pg_backup_stop(false)');
    await writeFile(join(target, 'backup_label'), rows[0].labelfile);
  } finally {
    await session.end();
  }
  const owner = await stat(database.dataPath);
  for (const name of emptyFolders) await mkdir(join(target, name));
  // The name '' stands for the folder `target` itself.
  for (const name of ['', 'backup_label', ...emptyFolders]) await chown(join(target, name), owner.uid, owner.gid);
  // The copy has the same roles and passwords. The embedded PostgreSQL reads the superuser's password from this file.
  await copyFile(`${database.dataPath}.password`, `${target}.password`);
}

/** Writes the empty file that makes PostgreSQL start as a standby server, or recover from the archive. */
export async function writeSignalFile(data: string, name: 'standby.signal' | 'recovery.signal'): Promise<void> {
  const owner = await stat(data);
  await writeFile(join(data, name), '');
  await chown(join(data, name), owner.uid, owner.gid);
}

export interface Replica {
  readonly port: number;
  /** The URL with which an instance of bookings connects. */
  readonly url: string;
  /** Runs a statement in the database of bookings as the superuser. */
  readonly query: (sql: string) => Promise<pg.QueryResult>;
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  /** Waits until the replica has replayed everything that the primary had written before the call. */
  readonly catchUp: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

/** Starts a replica, which connects to the primary at `primaryPort`. This may be the port of a proxy. */
export async function startReplica(primary: DatabaseServer, primaryPort: number = primary.port): Promise<Replica> {
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-replica-'));
  // The user that runs PostgreSQL must be able to enter the folder.
  await chmod(folder, 0o711);
  const { uid, gid } = await stat(primary.dataPath);
  await chown(folder, uid, gid);
  const data = join(folder, 'postgres');
  await baseBackup(primary, data);
  await writeSignalFile(data, 'standby.signal');
  const { username, password } = new URL(primary.ownerUrlOf('bookings'));
  const [port] = (await freePorts(1)) as [number];
  const settings = {
    primary_conninfo: `host=127.0.0.1 port=${primaryPort} user=${username} password=${password}`,
    wal_retrieve_retry_interval: '100ms',
    // If a query conflicts with a change that the replica must replay, the replica cancels the query without waiting.
    max_standby_streaming_delay: 0,
  };
  const startServer = () => startEmbeddedPostgres({ dataDir: data, port, fsync: false, settings });
  let server: EmbeddedPostgres = await startServer();
  const query = (sql: string) => queryOnce(server.url.replace(/\/postgres$/, '/bookings'), sql);
  return {
    port,
    url: primary.urlOf('bookings', port),
    query,
    start: async () => {
      server = await startServer();
    },
    kill: () => crash(server, 'SIGKILL'),
    catchUp: async () => {
      const { rows } = await primary.query('bookings', 'select pg_current_wal_flush_lsn() as lsn');
      const replayed = `select pg_last_wal_replay_lsn() >= '${rows[0].lsn}' as done`;
      await eventually(async () => (await query(replayed)).rows[0].done);
    },
    remove: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
