// Starts the whole system with `npm start`, on free ports and with a temporary data folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@bay-booking/postgres/ports';
import { useFixture } from '@bay-booking/testkit/fixture';
import { eventually, isOk } from './wait.ts';

const root = join(import.meta.dirname, '../..');

/** Starts the system before the tests of a file, and stops it after the tests. */
export const useSystem = (environment?: Record<string, string>) => useFixture(() => startSystem(environment));

/**
 * Starts the system, and waits until both services are ready.
 * @throws {Error} with the output if `npm start` ends, or if the system is not ready after 150 s
 */
export async function startSystem(environment: Record<string, string> = {}) {
  const [authPort, bookingsPort] = (await freePorts(2)) as [number, number];
  const dataDir = await mkdtemp(join(tmpdir(), 'bay-booking-'));
  const launcher = spawn('npm', ['start'], {
    cwd: root,
    env: {
      ...process.env,
      // Options for the Node of the tests must not apply to the services.
      NODE_OPTIONS: '',
      AUTH_PORT: String(authPort),
      BOOKINGS_PORT: String(bookingsPort),
      DATA_DIR: dataDir,
      DEMO_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [auth, bookings] = [`http://localhost:${authPort}`, `http://localhost:${bookingsPort}`];
  let output = '';
  for (const stream of [launcher.stdout, launcher.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const close = async (): Promise<void> => {
    await end(launcher);
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await waitUntilReady(launcher, [auth, bookings], () => output);
  } catch (error) {
    await close();
    throw error;
  }
  /** Everything that the launcher and the services have printed. */
  const printed = () => output;
  return { auth, bookings, dataDir, output: printed, close };
}

async function end(launcher: ChildProcess): Promise<void> {
  if (launcher.exitCode !== null || launcher.signalCode !== null) return;
  const exited = once(launcher, 'exit');
  launcher.kill('SIGTERM');
  await exited;
}

async function waitUntilReady(launcher: ChildProcess, bases: readonly string[], output: () => string): Promise<void> {
  const ready = Promise.all(bases.map((base) => eventually(() => isOk(`${base}/health/ready`), 150_000)));
  const exited = once(launcher, 'exit').then(([code]) => {
    throw new Error(`npm start ended with ${code}`);
  });
  try {
    await Promise.race([ready, exited]);
  } catch (error) {
    throw new Error(`npm start is not ready:\n${output()}`, { cause: error });
  }
  // When the system is closed, the launcher exits and `exited` rejects. An unhandled rejection would fail the tests.
  exited.catch(() => {});
}
