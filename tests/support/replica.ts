// Where does a streaming replica come from? A base backup of a running server, as pg_basebackup makes it (which the embedded PostgreSQL
// lacks): its files copied between pg_backup_start and pg_backup_stop. Also the start of every restore.
import { execFile } from 'node:child_process';
import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '@bay-booking/postgres/ports';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@bay-booking/postgres/server';
import pg from 'pg';
import { type DatabaseServer, queryOnce } from './database-server.ts';
import { eventually } from './wait.ts';

const run = promisify(execFile);
/** Files of the running server, and what its successor gets from the stream or the archive. */
const leftOut = new Set(['postmaster.pid', 'postmaster.opts', 'pg_wal', 'pg_replslot', 'pg_stat_tmp', 'pg_notify']);

/** A copy of `database` at `target`, which is consistent once its WAL has been replayed. */
export async function baseBackup(database: DatabaseServer, target: string): Promise<void> {
  const session = new pg.Client({ connectionString: database.ownerUrlOf('bookings') });
  await session.connect();
  try {
    await session.query("select pg_backup_start('base', true)");
    await mkdir(target, { mode: 0o700 });
    for (const name of await readdir(database.dataPath)) {
      if (!leftOut.has(name)) await run('cp', ['-a', join(database.dataPath, name), target]);
    }
    const { rows } = await session.query('select labelfile from pg_backup_stop(false)');
    await writeFile(join(target, 'backup_label'), rows[0].labelfile);
  } finally {
    await session.end();
  }
  const owner = await stat(database.dataPath);
  for (const name of ['pg_wal', 'pg_replslot', 'pg_stat_tmp', 'pg_notify']) await mkdir(join(target, name));
  for (const name of ['', 'backup_label', 'pg_wal', 'pg_replslot', 'pg_stat_tmp', 'pg_notify'])
    await chown(join(target, name), owner.uid, owner.gid);
  // The roles' passwords are in the copy; the launcher keeps the superuser's beside it.
  await copyFile(`${database.dataPath}.password`, `${target}.password`);
}

/** An empty file, such as standby.signal, that tells PostgreSQL at its start what the copy is for. */
export async function signalFile(data: string, name: 'standby.signal' | 'recovery.signal'): Promise<void> {
  const owner = await stat(data);
  await writeFile(join(data, name), '');
  await chown(join(data, name), owner.uid, owner.gid);
}

export interface Replica {
  readonly port: number;
  readonly url: string;
  readonly query: (sql: string) => Promise<pg.QueryResult>;
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  /** The replica has replayed all that the primary has written. */
  readonly caughtUp: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

export async function startReplica(primary: DatabaseServer, through: number = primary.port): Promise<Replica> {
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-replica-'));
  await chmod(folder, 0o711);
  const { uid, gid } = await stat(primary.dataPath);
  await chown(folder, uid, gid);
  const data = join(folder, 'postgres');
  await baseBackup(primary, data);
  await signalFile(data, 'standby.signal');
  const { username, password } = new URL(primary.ownerUrlOf('bookings'));
  const [port] = (await freePorts(1)) as [number];
  const settings = {
    primary_conninfo: `host=127.0.0.1 port=${through} user=${username} password=${password}`,
    wal_retrieve_retry_interval: '100ms',
    // Readers give way to recovery at once.
    max_standby_streaming_delay: 0,
  };
  const boot = () => startEmbeddedPostgres({ dataDir: data, port, fsync: false, settings });
  let server: EmbeddedPostgres = await boot();
  const query = (sql: string) => queryOnce(server.url.replace(/\/postgres$/, '/bookings'), sql);
  return {
    port,
    url: primary.urlOf('bookings', port),
    query,
    start: async () => {
      server = await boot();
    },
    kill: async () => {
      const [pid] = (await readFile(join(server.dataPath, 'postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), 'SIGKILL');
      await server.ended;
      await server.stop();
    },
    caughtUp: async () => {
      const { rows } = await primary.query('bookings', 'select pg_current_wal_flush_lsn() as written');
      const replayed = `select pg_last_wal_replay_lsn() >= '${rows[0].written}' as done`;
      await eventually(async () => (await query(replayed)).rows[0].done);
    },
    remove: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
