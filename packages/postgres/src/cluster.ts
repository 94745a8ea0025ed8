// Creates PostgreSQL's data directory and the superuser's password.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runAs, type ServerAccount } from './account.ts';
import type { Binaries } from './binaries.ts';
import { findProcess } from './processes.ts';

export interface ClusterOptions {
  data: string;
  binaries: Binaries;
  account: ServerAccount | undefined;
  fsync: boolean;
  onProgress: (line: string) => void;
}

const passwordFile = (data: string) => join(data, 'superuser-password');

/** Creates the data directory if it is missing and returns the superuser's password. */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { data, binaries } = options;
  const versionFile = join(data, 'PG_VERSION');
  if (!existsSync(versionFile)) await createCluster(options);
  const version = readFileSync(versionFile, 'utf8').trim();
  const isSameVersion = version === String(binaries.majorVersion);
  if (!isSameVersion || !existsSync(passwordFile(data))) {
    const maker = isSameVersion ? 'a development version' : `PostgreSQL ${version} (this is ${binaries.majorVersion})`;
    throw new Error(`${data} was made by ${maker}: move it away to start with a new one`);
  }
  return readFileSync(passwordFile(data), 'utf8').trim();
}

/**
 * Runs initdb in a directory with another name and renames the complete directory. Two launchers can do this at the
 * same time: the first rename wins.
 */
async function createCluster({ data, binaries, account, fsync, onProgress }: ClusterOptions): Promise<void> {
  onProgress(`creating a PostgreSQL ${binaries.majorVersion} database cluster in ${data}`);
  removeAbandonedDrafts(data);
  const draft = `${data}.new-${process.pid}`;
  mkdirSync(draft);
  const [cluster, password] = [join(draft, 'data'), join(draft, 'password')];
  writeFileSync(password, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  if (account) for (const path of [draft, password]) chownSync(path, account.uid, account.gid);
  const args = [
    `--pgdata=${cluster}`,
    '--username=postgres',
    '--auth=scram-sha-256',
    `--pwfile=${password}`,
    '--encoding=UTF8',
    // The builtin provider sorts in the same order on every machine. Only PostgreSQL 17 and later have it.
    ...(binaries.majorVersion >= 17 ? ['--locale-provider=builtin', '--locale=C.UTF-8'] : ['--locale=C']),
    ...(fsync ? [] : ['--no-sync']),
  ];
  try {
    // Keeps initdb's messages in English.
    const env = { ...process.env, LC_ALL: 'C' };
    await promisify(execFile)(binaries.initdb, args, { ...runAs(account), env, timeout: 120_000 });
    renameSync(password, passwordFile(cluster));
    renameSync(cluster, data);
  } catch (error) {
    if (!existsSync(join(data, 'PG_VERSION'))) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Removes the directories of launchers that were killed during initdb, with retries because initdb may still run. */
function removeAbandonedDrafts(data: string): void {
  for (const draft of globSync(`${data}.new-*`)) {
    const pid = Number(draft.split('-').at(-1));
    // In a container, an earlier launcher often had the same process id.
    if (pid === process.pid || !findProcess(pid)) rmSync(draft, { recursive: true, maxRetries: 10 });
  }
}
