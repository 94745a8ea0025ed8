// Runs `npm start` for a test, on free ports and with its own data folder, and finds the processes that `npm start` has
// started.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@bay-booking/postgres/ports';
import { readPostmaster } from '@bay-booking/postgres/postmaster';
import { findProcess, waitForEnd } from '@bay-booking/postgres/processes';
import { startProcess } from '@bay-booking/testkit/process';

const root = join(import.meta.dirname, '../../..');

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

export type Launcher = ReturnType<typeof launch>;

export function launch(installation: Installation, options: { env?: Record<string, string>; usesNpm?: boolean } = {}) {
  const [command, argument] = options.usesNpm ? ['npm', 'start'] : [process.execPath, 'packages/local/start.js'];
  // With npm_lifecycle_event, the launcher would assume that npm has started it. NODE_OPTIONS is for Jest.
  const { npm_lifecycle_event: _, NODE_OPTIONS: __, ...env } = process.env;
  const launcher = startProcess(command, [argument], {
    cwd: root,
    env: {
      ...env,
      DATA_DIR: installation.dataDir,
      AUTH_PORT: String(installation.authPort),
      BOOKINGS_PORT: String(installation.bookingsPort),
      DEMO_PORT: '0',
      ...options.env,
    },
  });
  return { ...launcher, untilReady: () => launcher.untilPrinted(/is ready after/) };
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
  await Promise.all(launchers.map((launcher) => launcher.stop()));
  // After a SIGKILL of the launcher, the watchdog stops PostgreSQL.
  const postmaster = readPostmaster(join(installation.dataDir, 'postgres'));
  if (postmaster) await waitForEnd(postmaster.pid, 20_000);
  rmSync(installation.dataDir, { recursive: true, force: true });
}
