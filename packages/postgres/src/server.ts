// Runs a PostgreSQL server for development and tests on a machine that has no installed PostgreSQL.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
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
import { chooseDataLocation, runAs, type ServerAccount, serverAccount, systemFolder } from './account.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import { freePort } from './ports.ts';
import { findServer, launcherSetting, readPostmaster, stopPostmaster, takeOver } from './postmaster.ts';
import { watchOver } from './watchdog.ts';

const host = '127.0.0.1';
const startLimitMs = 60_000;
const repeatLimitMs = 15_000;
/** A larger log file is emptied when the server starts. */
const logLimitBytes = 5_000_000;

export interface EmbeddedPostgresOptions {
  /** The folder of the database files. Default: a temporary folder, which is removed when the server stops. */
  dataDir?: string;
  /** Default: any free port. */
  port?: number | undefined;
  /** Default: true. Tests are faster with false, but a power failure may destroy the data. */
  fsync?: boolean;
  settings?: Record<string, string | number>;
  /** The folder of the programs. Default: the folder in the npm package, or else a folder on the PATH. */
  programs?: string;
  environment?: Record<string, string>;
  onProgress?: (line: string) => void;
  /** Whether a watchdog stops the server after a SIGKILL of this process. Always true for a temporary folder. */
  watchdog?: boolean;
}

export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

export function findLauncher(dataDir: string): number | undefined {
  return findServer(chooseDataLocation(dataDir, serverAccount(dataDir)))?.launcher;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions) {
  const { fsync = true, onProgress = () => {} } = options;
  const temporaryFolder = options.dataDir === undefined ? makeTemporaryFolder() : undefined;
  const requested = resolve(options.dataDir ?? join(temporaryFolder as string, 'postgres'));
  const account = serverAccount(requested);
  const data = chooseDataLocation(requested, account);
  const isMoved = data !== requested;
  if (isMoved) onProgress(`user ${account?.uid} cannot enter ${requested}: the database files are in ${data}`);
  // Moved data are in a folder of their own.
  const foldersToRemove = temporaryFolder ? [temporaryFolder, ...(isMoved ? [dirname(data)] : [])] : [];
  const removeFolders = (): void => {
    for (const folder of foldersToRemove) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const binaries = await findBinaries(account, account ? systemFolder : dirname(data), options.programs);
    if (await takeOver(data)) onProgress('stopped the PostgreSQL server that the last run left behind');
    const password = await ensureCluster({ data, binaries, account, fsync, onProgress });
    const { child, port } = await start({ options, data, binaries, account });
    const ended = new Promise<void>((settle) => child.once('exit', () => settle()));
    const needsWatchdog = options.watchdog || temporaryFolder !== undefined;
    const watchdog = needsWatchdog ? watchOver(child.pid as number, foldersToRemove) : undefined;
    return {
      /** Connects the superuser to the database `postgres`. */
      url: `postgres://postgres:${password}@${host}:${port}/postgres`,
      port,
      dataPath: data,
      ended,
      stop: async () => {
        // `startOnce` has called `unref` so that this process does not wait for the server. From now on it must.
        child.ref();
        if (child.exitCode === null && child.signalCode === null) await stopPostmaster(child.pid as number);
        await ended;
        await watchdog?.dismiss();
        removeFolders();
      },
    };
  } catch (error) {
    removeFolders();
    throw error;
  }
}

function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bay-booking-postgres-'));
  // If root runs this process, the server runs as another user and must be able to enter the folder.
  chmodSync(folder, 0o711);
  return folder;
}

interface ServerProgram {
  options: EmbeddedPostgresOptions;
  data: string;
  binaries: Binaries;
  account: ServerAccount | undefined;
}

const dataInUse = /still in use|postmaster\.pid/;
const portInUse = /Address already in use|could not bind/;

/**
 * Starts the server on the requested port, or on any free port. Tries again while processes of the previous server
 * still use the data directory, or if another program took the free port.
 */
async function start(program: ServerProgram): Promise<{ child: ChildProcess; port: number }> {
  const deadline = Date.now() + repeatLimitMs;
  const requestedPort = program.options.port;
  for (;;) {
    const port = requestedPort ?? (await freePort());
    try {
      return { child: await startOnce(program, port), port };
    } catch (error) {
      const { message } = error as Error;
      if (requestedPort && portInUse.test(message)) throw new Error(`port ${port} (PostgreSQL) is taken`);
      if (Date.now() > deadline || !(dataInUse.test(message) || portInUse.test(message))) throw error;
      await pause(250);
      // Fails if another launcher has started its server. Otherwise removes the remaining postmaster.pid.
      await takeOver(program.data);
    }
  }
}

/** Starts the server and waits until it is ready. */
async function startOnce({ options, data, binaries, account }: ServerProgram, port: number): Promise<ChildProcess> {
  const settings = {
    [launcherSetting]: process.pid,
    port,
    listen_addresses: host,
    unix_socket_directories: '',
    max_connections: 150,
    timezone: 'UTC',
    log_timezone: 'UTC',
    jit: 'off',
    ...(options.fsync === false && { fsync: 'off', full_page_writes: 'off' }),
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const logFile = `${data}.log`;
  const log = openSync(logFile, 'a', 0o600);
  if (fstatSync(log).size > logLimitBytes) ftruncateSync(log);
  // Another launcher may write its own lines meanwhile, so the log is not emptied at each start.
  const logStart = fstatSync(log).size;
  if (account) fchownSync(log, account.uid, account.gid);
  const child = spawn(binaries.postgres, ['-D', data, ...flags], {
    ...runAs(account),
    // The locale C gives English error messages, which `dataInUse` and `portInUse` match.
    env: { ...process.env, LC_ALL: 'C', ...options.environment },
    stdio: ['ignore', log, log],
    // A process group of its own keeps the SIGINT of Ctrl-C away from the server until the services have ended.
    detached: true,
  });
  closeSync(log);
  child.unref();
  await once(child, 'spawn');
  const lastLogLines = () =>
    readFileSync(logFile).subarray(logStart).toString().trim().split('\n').slice(-12).join('\n');
  const deadline = Date.now() + startLimitMs;
  for (;;) {
    const postmaster = readPostmaster(data);
    if (postmaster?.isReady && postmaster.pid === child.pid) return child;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`PostgreSQL did not start: ${lastLogLines()}`);
    if (Date.now() > deadline) {
      await stopPostmaster(child.pid as number);
      throw new Error(`PostgreSQL did not start within ${startLimitMs / 1000} s:\n${lastLogLines()}`);
    }
    await pause(20);
  }
}
