// Runs a PostgreSQL server for development and tests, without an installed PostgreSQL. The first start creates the data
// directory with initdb. The server runs in its own process group, so that Ctrl-C in the terminal does not stop the
// server before the services. A server that a killed launcher has left behind is stopped before the new server starts.
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
import { acquireLock, type Lock, LockedByAnotherProcess } from './lock-file.ts';
import { freePort, isPortFree } from './ports.ts';
import { readPostmaster, stopOrphan, stopPostmaster } from './postmaster.ts';
import { watchOver } from './watchdog.ts';

const HOST = '127.0.0.1';
/** The maximum duration of one start, from the new process until the server accepts connections. */
const START_LIMIT_MS = 60_000;
/** The time between two checks whether the server has started. */
const POLL_MS = 20;
/** How long a failed start is repeated. */
const REPEAT_LIMIT_MS = 15_000;
const PAUSE_BEFORE_REPEAT_MS = 250;
/** The log file is emptied if it is larger than this when the server starts. */
const LOG_LIMIT_BYTES = 5_000_000;

export interface EmbeddedPostgresOptions {
  /** The folder of the database files. Default: a temporary folder, which is removed when the server stops. */
  dataDir?: string;
  /** The port on which the server listens. Default: any free port. */
  port?: number | undefined;
  /** Default: true. Without fsync, tests are faster, but a power failure may destroy the data. */
  fsync?: boolean;
  /** Further settings of the server, as in postgresql.conf. */
  settings?: Record<string, string | number>;
  /**
   * The folder with the programs of another PostgreSQL, for example one with extensions that the npm package lacks.
   * Default: the programs of the npm package, or else those on the PATH.
   */
  programs?: string;
  /** Further environment variables of the server process. Default: none. */
  environment?: Record<string, string>;
  /** Called with a message for the user when a step that takes long begins. */
  onProgress?: (line: string) => void;
  /** Whether a watchdog stops the server after a SIGKILL of this process. Always true for a temporary folder. */
  watchdog?: boolean;
}

export interface EmbeddedPostgres {
  /** Connects as superuser to the database `postgres`. */
  url: string;
  port: number;
  /** The folder of the database files. */
  dataPath: string;
  /** Whether a killed launcher had left an old server behind, which was stopped before this server started. */
  hasStoppedOrphan: boolean;
  /** Resolves when the server has ended for any reason. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

/** @throws {Error} if the server cannot be started. The message is meant for the user of the launcher. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { fsync = true, onProgress = () => {} } = options;
  const temporaryFolder = options.dataDir === undefined ? makeTemporaryFolder() : undefined;
  const requested = resolve(options.dataDir ?? join(temporaryFolder as string, 'postgres'));
  const account = serverAccount(requested);
  const { data, cache, isMoved } = chooseDataLocation(requested, account);
  if (isMoved) onProgress(`user ${account?.uid} cannot enter ${requested}: the database files are in ${data}`);
  const binaries = options.programs ? binariesIn(options.programs, account) : await findBinaries(account, cache);
  // Moved data are in a folder that was created only for them.
  const foldersToRemove = temporaryFolder ? [temporaryFolder, ...(isMoved ? [dirname(data)] : [])] : [];
  const lock = lockData(data);
  const release = (): void => {
    lock.release();
    for (const folder of foldersToRemove) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const hasStoppedOrphan = await stopOrphan(data);
    if (hasStoppedOrphan) onProgress('stopped the PostgreSQL server that the last run left behind');
    const password = await ensureCluster({ data, binaries, account, fsync, onProgress });
    const program: ServerProgram = {
      data,
      binaries,
      account,
      logFile: `${data}.log`,
      settings: { ...defaultSettings(fsync), ...options.settings },
      environment: options.environment ?? {},
    };
    const { child, port } = await startOnPort(program, options.port);
    const ended = new Promise<void>((settle) => child.once('exit', () => settle()));
    const needsWatchdog = options.watchdog || temporaryFolder !== undefined;
    const watchdog = needsWatchdog ? watchOver(child.pid as number, foldersToRemove) : undefined;
    return {
      url: `postgres://postgres:${password}@${HOST}:${port}/postgres`,
      port,
      dataPath: data,
      hasStoppedOrphan,
      ended,
      stop: async () => {
        // `spawnServer` has called `unref`, so that this process does not wait for the server. Now it must wait until
        // the server has ended.
        child.ref();
        if (child.exitCode === null && child.signalCode === null) await stopPostmaster(child.pid as number);
        await ended;
        await watchdog?.dismiss();
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** Creates a folder that other users can enter. If root runs this process, the server runs as another user. */
function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bay-booking-postgres-'));
  chmodSync(folder, 0o711);
  return folder;
}

function lockData(data: string): Lock {
  try {
    return acquireLock(`${data}.owner`);
  } catch (error) {
    if (!(error instanceof LockedByAnotherProcess)) throw error;
    throw new Error(`the running process ${error.pid} already uses the database files in ${data}`);
  }
}

const defaultSettings = (fsync: boolean): Record<string, string | number> => ({
  listen_addresses: HOST,
  // No Unix socket.
  unix_socket_directories: '',
  max_connections: 150,
  timezone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',
  ...(fsync ? {} : { fsync: 'off', full_page_writes: 'off' }),
});

interface ServerProgram {
  data: string;
  binaries: Binaries;
  /** The operating system account that runs the server. Undefined: the account of this process. */
  account: Account | undefined;
  logFile: string;
  settings: Record<string, string | number>;
  environment: Record<string, string>;
}

/** Matches the error of PostgreSQL while processes of the previous server still use the data directory. */
const dataInUse = /still in use|postmaster\.pid/;
/** Matches the error of PostgreSQL if another program uses the port. */
const portInUse = /Address already in use|could not bind/;

/**
 * Starts the server on the requested port, or on any free port if none was requested. Repeats the start while processes
 * of the previous server still use the data directory. If no port was requested, also repeats the start with another
 * port when a program took the free port before the server listened on it.
 */
async function startOnPort(
  program: ServerProgram,
  requestedPort: number | undefined,
): Promise<{ child: ChildProcess; port: number }> {
  const deadline = Date.now() + REPEAT_LIMIT_MS;
  for (;;) {
    const port = requestedPort ?? (await freePort());
    if (requestedPort && !(await isPortFree(port, HOST))) throw new Error(`port ${port} (PostgreSQL) is taken`);
    try {
      return { child: await startOnce(program, port), port };
    } catch (error) {
      const { message } = error as Error;
      const isTemporary = dataInUse.test(message) || (!requestedPort && portInUse.test(message));
      if (Date.now() > deadline || !isTemporary) throw error;
      await pause(PAUSE_BEFORE_REPEAT_MS);
      // Removes the postmaster.pid of the failed start.
      await stopOrphan(program.data);
    }
  }
}

async function startOnce(program: ServerProgram, port: number): Promise<ChildProcess> {
  const { child, logStart } = spawnServer(program, port);
  let spawnError: Error | undefined;
  child.once('error', (error) => {
    spawnError = error;
  });
  const deadline = Date.now() + START_LIMIT_MS;
  for (;;) {
    const postmaster = readPostmaster(program.data);
    if (postmaster?.isReady && postmaster.pid === child.pid) return child;
    if (spawnError || child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`PostgreSQL did not start: ${spawnError?.message ?? logTail(program.logFile, logStart)}`);
    }
    if (Date.now() > deadline) {
      await stopPostmaster(child.pid as number);
      const seconds = START_LIMIT_MS / 1000;
      throw new Error(`PostgreSQL did not start within ${seconds} s:\n${logTail(program.logFile, logStart)}`);
    }
    await pause(POLL_MS);
  }
}

/** Starts the process of the server. `logStart` is the position in the log file at which its output begins. */
function spawnServer(program: ServerProgram, port: number): { child: ChildProcess; logStart: number } {
  const { data, binaries, account, settings, environment } = program;
  const log = openSync(program.logFile, 'a', 0o600);
  if (account) fchownSync(log, account.uid, account.gid);
  if (fstatSync(log).size > LOG_LIMIT_BYTES) ftruncateSync(log);
  const logStart = fstatSync(log).size;
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(binaries.postgres, ['-D', data, '-p', String(port), ...flags], {
    ...runAs(account),
    // With the locale C, the error messages are in English, as the patterns `dataInUse` and `portInUse` require.
    env: { ...process.env, LC_ALL: 'C', ...environment },
    stdio: ['ignore', log, log],
    // Creates a process group, so that Ctrl-C does not stop the server.
    detached: true,
  });
  closeSync(log);
  child.unref();
  return { child, logStart };
}

/** Returns the last 12 lines of the log file after the position `from`. */
function logTail(path: string, from: number): string {
  const text = readFileSync(path).subarray(from).toString('utf8').trim();
  return text === '' ? 'its log is empty' : text.split('\n').slice(-12).join('\n');
}
