// Runs `npm start` for a test, on free ports and with its own data folder, and finds the processes that `npm start` has
// started.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@bay-booking/postgres/ports';
import { readPostmaster } from '@bay-booking/postgres/postmaster';
import { processState, signal, waitForEnd } from '@bay-booking/postgres/processes';

const root = join(import.meta.dirname, '../../..');
const readyTimeoutMs = 60_000;

/** The data folder, the ports and the addresses of one system. */
export interface Installation {
  dataDir: string;
  authPort: number;
  bookingsPort: number;
  auth: string;
  bookings: string;
}

export async function createInstallation(): Promise<Installation> {
  const [authPort, bookingsPort] = (await freePorts(2)) as [number, number];
  return {
    dataDir: mkdtempSync(join(tmpdir(), 'bay-booking-start-')),
    authPort,
    bookingsPort,
    auth: `http://localhost:${authPort}`,
    bookings: `http://localhost:${bookingsPort}`,
  };
}

export interface Launcher {
  child: ChildProcess;
  output: () => string;
  errors: () => string;
  /** Resolves with the exit code, or with the signal that ended the launcher. */
  ended: Promise<number | string>;
  /** Waits until the launcher prints that the system is ready. Rejects with the output if the launcher ends first. */
  untilReady(): Promise<void>;
  signal(name: NodeJS.Signals): void;
}

export function launch(
  installation: Installation,
  options: { env?: Record<string, string>; usesNpm?: boolean } = {},
): Launcher {
  const [command, argument] = options.usesNpm ? ['npm', 'start'] : [process.execPath, 'packages/local/start.js'];
  // With npm_lifecycle_event, the launcher would assume that npm has started it. NODE_OPTIONS is for Jest.
  const { npm_lifecycle_event: _, NODE_OPTIONS: __, ...env } = process.env;
  const child = spawn(command, [argument], {
    cwd: root,
    env: {
      ...env,
      DATA_DIR: installation.dataDir,
      AUTH_PORT: String(installation.authPort),
      BOOKINGS_PORT: String(installation.bookingsPort),
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  const ready = Promise.withResolvers<void>();
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    if (output.includes('is ready after')) ready.resolve();
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  const ended = once(child, 'close').then(([code, signalName]) => (code ?? signalName) as number | string);
  return {
    child,
    ended,
    output: () => output,
    errors: () => errors,
    untilReady: () => {
      const fail = (reason: string) => ready.reject(new Error(`${reason}:\n${output}${errors}`));
      const timer = setTimeout(() => fail('not ready in time'), readyTimeoutMs);
      void ended.then((result) => fail(`ended with ${result}`));
      return ready.promise.finally(() => clearTimeout(timer));
    },
    signal: (name) => void child.kill(name),
  };
}

/** Returns the process ids of the launcher, of auth, of bookings and of PostgreSQL, which the pid files contain. */
export function processesOf({ dataDir }: Installation): number[] {
  // `parseFloat` reads the number at the beginning of a line. `parseInt` would take the index of the line as its radix.
  const firstNumbersOfLines = (file: string) => {
    try {
      return readFileSync(join(dataDir, file), 'utf8').split('\n').map(Number.parseFloat).filter(Number.isInteger);
    } catch {
      return [];
    }
  };
  const postmaster = readPostmaster(join(dataDir, 'postgres'));
  return [
    // In launcher.pid, only the first line is a process id.
    ...firstNumbersOfLines('launcher.pid').slice(0, 1),
    ...firstNumbersOfLines('services.pid'),
    ...(postmaster ? [postmaster.pid] : []),
  ];
}

export const launcherPid = (installation: Installation) => processesOf(installation)[0] as number;

export const running = (pids: readonly number[]) => pids.filter((pid) => processState(pid) === 'running');

export async function cleanUp(installation: Installation, launchers: readonly Launcher[]): Promise<void> {
  for (const launcher of launchers) launcher.signal('SIGTERM');
  await Promise.all(launchers.map(({ ended }) => ended));
  for (const pid of running(processesOf(installation))) {
    signal(pid, 'SIGKILL');
    await waitForEnd(pid, 5_000);
  }
  rmSync(installation.dataDir, { recursive: true, force: true });
}
