// How does a PostgreSQL server run here without being installed? initdb once, then `postgres` as a process group of its own, so that
// Ctrl-C reaches the services first; a server that a killed launcher left behind is stopped before the next one starts.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Account, runAs, serverAccount } from './account.ts';
import { type Binaries, binariesIn, findBinaries } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import { claimPidFile, HeldByAnotherProcess } from './pid-file.ts';
import { choosePlace } from './place.ts';
import { freePort, portIsFree } from './ports.ts';
import { clearOrphan, readPostmaster, stopPostmaster } from './postmaster.ts';
import { type Watchdog, watchOver } from './watchdog.ts';

const HOST = '127.0.0.1';
const START_LIMIT_MS = 60_000;
const LOG_LIMIT_BYTES = 5_000_000;

export interface EmbeddedPostgresOptions {
  /** A temporary one, removed with the server, unless given. */
  dataDir?: string;
  /** A free one unless given. */
  port?: number | undefined;
  /** false for tests: faster, and a power cut may lose everything. */
  fsync?: boolean;
  settings?: Record<string, string | number>;
  /** The folder of another PostgreSQL's programs, for what the installed package lacks: extensions. */
  programs?: string;
  /** For the server's process, beside this one's. */
  environment?: Record<string, string>;
  onProgress?: (line: string) => void;
  /** Stop the server even when this process is killed without a chance to do it. A temporary server always does. */
  watchdog?: boolean;
}

export interface EmbeddedPostgres {
  /** As the superuser, database `postgres`. */
  url: string;
  port: number;
  /** Where the files are. */
  dataPath: string;
  /** A server of a killed launcher was found and stopped first. */
  recovered: boolean;
  /** Settles when the server ends, whoever ended it. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { fsync = true, onProgress = () => {} } = options;
  const temporary = options.dataDir === undefined ? makeTemporaryFolder() : undefined;
  const requested = resolve(options.dataDir ?? join(temporary as string, 'postgres'));
  const account = serverAccount(requested);
  const place = choosePlace(requested, account);
  if (place.moved)
    onProgress(`user ${account?.uid} cannot enter ${requested}: the database files are in ${place.data}`);
  const binaries = options.programs ? binariesIn(options.programs, account) : await findBinaries(account, place.cache);
  const remove = temporary ? [temporary, ...(place.moved ? [dirname(place.data)] : [])] : [];
  const owner = claimData(place.data);
  try {
    const recovered = await clearOrphan(place.data);
    if (recovered) onProgress('stopped the PostgreSQL server that the last run left behind');
    const password = await ensureCluster({ data: place.data, binaries, account, fsync, onProgress });
    const log = `${place.data}.log`;
    const run = {
      data: place.data,
      binaries,
      account,
      log,
      settings: { ...settings(fsync), ...options.settings },
      environment: options.environment ?? {},
    };
    const { child, port } = await startOnPort(run, options.port);
    const ended = new Promise<void>((settle) => child.once('exit', () => settle()));
    const watchdog: Watchdog | undefined =
      options.watchdog || temporary ? watchOver(child.pid as number, remove) : undefined;
    return {
      url: `postgres://postgres:${password}@${HOST}:${port}/postgres`,
      port,
      dataPath: place.data,
      recovered,
      ended,
      stop: async () => {
        child.ref();
        if (child.exitCode === null && child.signalCode === null) await stopPostmaster(child.pid as number);
        await ended;
        await watchdog?.dismiss();
        owner.release();
        removeFolders(remove);
      },
    };
  } catch (error) {
    owner.release();
    removeFolders(remove);
    throw error;
  }
}

function removeFolders(folders: readonly string[]): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

// The server's account must be able to enter it.
function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bay-booking-postgres-'));
  chmodSync(folder, 0o711);
  return folder;
}

function claimData(data: string) {
  try {
    return claimPidFile(`${data}.owner`);
  } catch (error) {
    if (!(error instanceof HeldByAnotherProcess)) throw error;
    throw new Error(`the running process ${error.pid} already uses the database files in ${data}`);
  }
}

const settings = (fsync: boolean): Record<string, string | number> => ({
  listen_addresses: HOST,
  unix_socket_directories: '',
  max_connections: 150,
  timezone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',
  ...(fsync ? {} : { fsync: 'off', full_page_writes: 'off' }),
});

interface Run {
  data: string;
  binaries: Binaries;
  account: Account | undefined;
  log: string;
  settings: Record<string, string | number>;
  environment: Record<string, string>;
}

// Two answers of the server pass by themselves: another program took the free port meanwhile, or the last server's processes have
// not let go of its memory yet.
async function startOnPort(run: Run, given: number | undefined): Promise<{ child: ChildProcess; port: number }> {
  const deadline = Date.now() + START_LIMIT_MS / 4;
  for (;;) {
    const port = given ?? (await freePort());
    if (given && !(await portIsFree(given, HOST))) throw new Error(`port ${given} (PostgreSQL) is taken`);
    try {
      return { child: await startOnce(run, port), port };
    } catch (error) {
      const passing = given
        ? /still in use|postmaster\.pid/
        : /still in use|postmaster\.pid|Address already in use|could not bind/;
      if (Date.now() > deadline || !passing.test((error as Error).message)) throw error;
      await pause(250);
      await clearOrphan(run.data);
    }
  }
}

async function startOnce(run: Run, port: number): Promise<ChildProcess> {
  const log = openSync(run.log, 'a', 0o600);
  if (run.account) fchownSync(log, run.account.uid, run.account.gid);
  if (fstatSync(log).size > LOG_LIMIT_BYTES) ftruncateSync(log);
  const logStart = fstatSync(log).size;
  const flags = Object.entries(run.settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(run.binaries.postgres, ['-D', run.data, '-p', String(port), ...flags], {
    ...runAs(run.account),
    env: { ...process.env, LC_ALL: 'C', ...run.environment },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  child.unref();
  const deadline = Date.now() + START_LIMIT_MS;
  for (;;) {
    const postmaster = readPostmaster(run.data);
    if (postmaster?.ready && postmaster.pid === child.pid) return child;
    if (failure || child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`PostgreSQL did not start: ${failure?.message ?? logTail(run.log, logStart)}`);
    }
    if (Date.now() > deadline) {
      await stopPostmaster(child.pid as number);
      throw new Error(`PostgreSQL did not start within ${START_LIMIT_MS / 1000} s:\n${logTail(run.log, logStart)}`);
    }
    await pause(20);
  }
}

function logTail(path: string, from: number): string {
  const text = readFileSync(path).subarray(from).toString('utf8').trim();
  return text === '' ? 'it wrote nothing to its log' : text.split('\n').slice(-12).join('\n');
}
