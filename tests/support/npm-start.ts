// How do tests get the whole system? `npm start` as a newcomer runs it, on free ports and with a data folder of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@bay-booking/postgres/ports';

const root = join(import.meta.dirname, '../..');

export interface RunningSystem {
  readonly auth: string;
  readonly bookings: string;
  readonly dataDir: string;
  /** All that the launcher and the services have printed so far. */
  readonly output: () => string;
  readonly stop: () => Promise<number | null>;
}

/** @throws {Error} with the output so far when it is not ready within a minute */
export async function startSystem(environment: Record<string, string> = {}): Promise<RunningSystem> {
  const [authPort, bookingsPort] = (await freePorts(2)) as [number, number];
  const dataDir = await mkdtemp(join(tmpdir(), 'bay-booking-'));
  const launcher = spawn('npm', ['start'], {
    cwd: root,
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      AUTH_PORT: String(authPort),
      BOOKINGS_PORT: String(bookingsPort),
      DATA_DIR: dataDir,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const system = {
    auth: `http://localhost:${authPort}`,
    bookings: `http://localhost:${bookingsPort}`,
    dataDir,
  };
  let output = '';
  for (const stream of [launcher.stdout, launcher.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const stop = async () => {
    const code = await end(launcher);
    await rm(dataDir, { recursive: true, force: true });
    return code;
  };
  try {
    await ready(launcher, [system.auth, system.bookings], () => output);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...system, output: () => output, stop };
}

async function end(launcher: ChildProcess): Promise<number | null> {
  if (launcher.exitCode !== null || launcher.signalCode !== null) return launcher.exitCode;
  const exited = once(launcher, 'exit');
  launcher.kill('SIGTERM');
  const [code] = await exited;
  return code;
}

async function ready(launcher: ChildProcess, bases: readonly string[], output: () => string): Promise<void> {
  const limit = AbortSignal.timeout(60_000);
  const gone = once(launcher, 'exit', { signal: limit }).then(([code]) => {
    throw new Error(`npm start ended with ${code}:\n${output()}`);
  });
  const all = Promise.all(bases.map((base) => answers(`${base}/health/ready`, limit)));
  await Promise.race([all, gone]).catch((error) => {
    throw new Error(`npm start is not ready:\n${output()}`, { cause: error });
  });
  gone.catch(() => {});
}

async function answers(url: string, limit: AbortSignal): Promise<void> {
  for (;;) {
    limit.throwIfAborted();
    const ok = await fetch(url, { signal: limit }).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
