// Runs a PostgreSQL server that does not have to be installed. The first start creates the data directory with initdb.
// The server runs in its own process group, so that Ctrl-C in the terminal does not stop it before the services have
// ended. A server that a killed launcher left behind is stopped before the new server starts.
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
import { chooseDataLocation } from './data-location.ts';
import { claimPidFile, HeldByAnotherProcess } from './pid-file.ts';
import { freePort, portIsFree } from './ports.ts';
import { clearOrphan, readPostmaster, stopPostmaster } from './postmaster.ts';
import { type Watchdog, watchOver } from './watchdog.ts';

const HOST = '127.0.0.1';
const START_LIMIT_MS = 60_000;
const LOG_LIMIT_BYTES = 5_000_000;

export interface EmbeddedPostgresOptions {
  /** The folder of the database files. Default: a temporary folder, which is removed when the server stops. */
  dataDir?: string;
  /** The port on which the server listens. Default: any free port. */
  port?: number | undefined;
  /** Default: true. Tests set false, which is faster, but a power failure may then destroy the data. */
  fsync?: boolean;
  /** Further settings of the server, as in postgresql.conf. */
  settings?: Record<string, string | number>;
  /** The programs folder of another PostgreSQL, which has extensions that the npm package does not have. */
  programs?: string;
  /** Additional environment variables of the server's process. */
  environment?: Record<string, string>;
  onProgress?: (line: string) => void;
  /**
   * Whether a watchdog stops the server when this process is killed with SIGKILL. A server with a temporary folder
   * always has a watchdog.
   */
  watchdog?: boolean;
}

export interface EmbeddedPostgres {
  /** Connects as superuser to the database `postgres`. */
  url: string;
  port: number;
  /** The folder of the database files. */
  dataPath: string;
  /** Whether a killed launcher had left a server behind, which was stopped before this server started. */
  recovered: boolean;
  /** Resolves when the server has ended for any reason. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { fsync = true, onProgress = () => {} } = options;
  const temporary = options.dataDir === undefined ? makeTemporaryFolder() : undefined;
  const requested = resolve(options.dataDir ?? join(temporary as string, 'postgres'));
  const account = serverAccount(requested);
  const location = chooseDataLocation(requested, account);
  if (location.isMoved)
    onProgress(`user ${account?.uid} cannot enter ${requested}: the database files are in ${location.data}`);
  const binaries = options.programs
    ? binariesIn(options.programs, account)
    : await findBinaries(account, location.cache);
  const remove = temporary ? [temporary, ...(location.isMoved ? [dirname(location.data)] : [])] : [];
  const owner = claimData(location.data);
  try {
    const recovered = await clearOrphan(location.data);
    if (recovered) onProgress('stopped the PostgreSQL server that the last run left behind');
    const password = await ensureCluster({ data: location.data, binaries, account, fsync, onProgress });
    const log = `${location.data}.log`;
    const run = {
      data: location.data,
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
      dataPath: location.data,
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

// Creates a folder that the account of the server can enter.
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

// Starts the server, and tries again after two temporary errors. Another program may have taken the free port before
// the server listened on it. Processes of the previous server may still use its shared memory.
async function startOnPort(run: Run, given: number | undefined): Promise<{ child: ChildProcess; port: number }> {
  const deadline = Date.now() + START_LIMIT_MS / 4;
  for (;;) {
    const port = given ?? (await freePort());
    if (given && !(await portIsFree(given, HOST))) throw new Error(`port ${given} (PostgreSQL) is taken`);
    try {
      return { child: await startOnce(run, port), port };
    } catch (error) {
      const temporary = given
        ? /still in use|postmaster\.pid/
        : /still in use|postmaster\.pid|Address already in use|could not bind/;
      if (Date.now() > deadline || !temporary.test((error as Error).message)) throw error;
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
  return text === '' ? 'its log is empty' : text.split('\n').slice(-12).join('\n');
}
