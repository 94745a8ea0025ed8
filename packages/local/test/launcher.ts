// Runs `npm start` for a test, on free ports and with its own data folder, and finds the processes that `npm start` has
// started.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@bay-booking/postgres/ports';
import { readPostmaster } from '@bay-booking/postgres/postmaster';
import { findProcess, waitForEnd } from '@bay-booking/postgres/processes';

const root = join(import.meta.dirname, '../../..');
const readyTimeoutMs = 150_000;

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
  /** Waits until the launcher has printed this text. Rejects with the output if the launcher ends first. */
  untilPrinted(text: string): Promise<void>;
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
      DEMO_PORT: '0',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  const ended = once(child, 'close').then(([code, signalName]) => (code ?? signalName) as number | string);
  const untilPrinted = async (text: string): Promise<void> => {
    const deadline = AbortSignal.timeout(readyTimeoutMs);
    const fail = (reason: string) => Promise.reject(new Error(`${reason}:\n${output}${errors}`));
    const failed = Promise.race([
      ended.then((result) => fail(`ended with ${result}`)),
      once(deadline, 'abort').then(() => fail(`"${text}" was not printed in time`)),
    ]);
    // Without a handler, the later end of the launcher would be an unhandled rejection.
    failed.catch(() => {});
    while (!output.includes(text)) await Promise.race([once(child.stdout, 'data'), failed]);
  };
  return {
    child,
    ended,
    output: () => output,
    errors: () => errors,
    untilPrinted,
    untilReady: () => untilPrinted('is ready after'),
    signal: (name) => void child.kill(name),
  };
}

/** Returns the ids of a process and of its descendants. */
function processTree(pid: number): readonly number[] {
  const ids =
    process.platform === 'linux'
      ? readdirSync('/proc')
      : execFileSync('ps', ['-A', '-o', 'pid=']).toString().split(/\s+/);
  const all = ids
    .map(Number)
    .filter((id) => id > 0)
    .map((id) => ({ id, parent: findProcess(id)?.parentPid }));
  const treeOf = (root: number): number[] => [
    root,
    ...all.filter(({ parent }) => parent === root).flatMap(({ id }) => treeOf(id)),
  ];
  return treeOf(pid);
}

export const processesOf = ({ child }: Launcher) => processTree(child.pid as number);

/** Returns the process ids of auth and bookings. */
export const servicesOf = (launcher: Launcher) =>
  processesOf(launcher).filter((pid) => findProcess(pid)?.command.endsWith('src/main.ts'));

export const running = (pids: readonly number[]) => pids.filter((pid) => findProcess(pid));

export async function cleanUp(installation: Installation, launchers: readonly Launcher[]): Promise<void> {
  for (const launcher of launchers) launcher.signal('SIGTERM');
  await Promise.all(launchers.map(({ ended }) => ended));
  // After a SIGKILL of the launcher, the watchdog stops PostgreSQL.
  const postmaster = readPostmaster(join(installation.dataDir, 'postgres'));
  if (postmaster) await waitForEnd(postmaster.pid, 20_000);
  rmSync(installation.dataDir, { recursive: true, force: true });
}
