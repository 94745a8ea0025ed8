// Makes base backups of a running PostgreSQL server.
//
// PostgreSQL's program for base backups, pg_basebackup, is not part of the embedded PostgreSQL. This module copies the
// files of the server between pg_backup_start and pg_backup_stop, as pg_basebackup does.
import { execFile } from 'node:child_process';
import { chown, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { DatabaseServer } from './database-server.ts';

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
      if (!excludedFiles.has(name))
        await run('cp', ['-a', join(database.dataPath, name), target]).catch(throwUnlessVanished);
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
}

/** PostgreSQL may delete a file while the folder is copied. The write-ahead log has what the copy needs. */
function throwUnlessVanished(error: Error & { readonly stderr?: string }): void {
  const lines = error.stderr?.trim().split('\n') ?? [''];
  if (!lines.every((line) => line.endsWith(': No such file or directory'))) throw error;
}

/** Writes the empty file that makes PostgreSQL start as a standby server, or recover from the archive. */
export async function writeSignalFile(data: string, name: 'standby.signal' | 'recovery.signal'): Promise<void> {
  const owner = await stat(data);
  await writeFile(join(data, name), '');
  await chown(join(data, name), owner.uid, owner.gid);
}
