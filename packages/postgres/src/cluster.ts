// Creates the data directory of PostgreSQL and the password of its superuser. initdb works in a directory with another
// name, which gets the final name when initdb has finished. If the first start is interrupted, the next start therefore
// does not find a partial data directory.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Account, runAs } from './account.ts';
import type { Binaries } from './binaries.ts';

const INITDB_LIMIT_MS = 120_000;
/** The number of characters of the output of initdb that an error message contains. */
const maxOutputLength = 4000;

export interface ClusterOptions {
  /** The data directory. */
  data: string;
  binaries: Binaries;
  /** The operating system account that runs PostgreSQL. Undefined for the account of this process. */
  account: Account | undefined;
  fsync: boolean;
  onProgress: (line: string) => void;
}

const passwordFileOf = (data: string) => `${data}.password`;

/**
 * Creates the data directory if it is missing. Returns the password of the superuser.
 * @throws {Error} if initdb fails, the data are of another major version, or the file with the password is missing
 */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { data, binaries } = options;
  const versionFile = join(data, 'PG_VERSION');
  if (!existsSync(versionFile)) return createCluster(options);
  const version = readFileSync(versionFile, 'utf8').trim();
  if (version !== String(binaries.version)) {
    throw new Error(
      `${data} was made by PostgreSQL ${version}, and this is PostgreSQL ${binaries.version}: move it away to start with a new one`,
    );
  }
  const passwordFile = passwordFileOf(data);
  if (!existsSync(passwordFile))
    throw new Error(`${passwordFile} is missing, so nobody can sign in to the data in ${data}`);
  return readFileSync(passwordFile, 'utf8').trim();
}

async function createCluster({ data, binaries, account, fsync, onProgress }: ClusterOptions): Promise<string> {
  onProgress(`creating a PostgreSQL ${binaries.version} database cluster in ${data}`);
  const password = randomBytes(24).toString('base64url');
  writePassword(passwordFileOf(data), password);
  const draft = `${data}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  // initdb may run as another account, which cannot read the password file. initdb therefore reads the password from a
  // copy, which belongs to the account of initdb and is deleted afterwards.
  const initdbPasswordFile = `${data}.handover`;
  writePassword(initdbPasswordFile, password);
  if (account) for (const path of [draft, initdbPasswordFile]) chownSync(path, account.uid, account.gid);
  try {
    await runInitdb(binaries, account, [
      `--pgdata=${draft}`,
      '--username=postgres',
      '--auth=scram-sha-256',
      `--pwfile=${initdbPasswordFile}`,
      '--encoding=UTF8',
      // The builtin provider sorts in the same order on every machine. It exists since PostgreSQL 17.
      ...(binaries.version >= 17 ? ['--locale-provider=builtin', '--locale=C.UTF-8'] : ['--locale=C']),
      ...(fsync ? [] : ['--no-sync']),
    ]);
    // An existing directory without the file PG_VERSION contains no complete cluster.
    rmSync(data, { recursive: true, force: true });
    renameSync(draft, data);
  } finally {
    rmSync(initdbPasswordFile, { force: true });
    rmSync(draft, { recursive: true, force: true });
  }
  return password;
}

/**
 * Writes a file that only its owner can read. An existing file is removed first, because `writeFileSync` would keep its
 * owner and its mode.
 */
function writePassword(file: string, password: string): void {
  rmSync(file, { force: true });
  writeFileSync(file, `${password}\n`, { mode: 0o600 });
}

function runInitdb(binaries: Binaries, account: Account | undefined, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(binaries.initdb, args, {
      ...runAs(account),
      // The messages of initdb are in English, whatever the language of the user is.
      env: { ...process.env, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: INITDB_LIMIT_MS,
    });
    let lastOutput = '';
    const collect = (chunk: Buffer) => {
      lastOutput = (lastOutput + chunk).slice(-maxOutputLength);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', reject);
    child.on('close', (code, signalName) => {
      if (code === 0) resolve();
      else reject(new Error(`initdb failed (${signalName ?? `exit code ${code}`}):\n${lastOutput.trim()}`));
    });
  });
}
