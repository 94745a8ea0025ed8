// Starts the whole system with `npm start`, on free ports and with a temporary data folder.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@bay-booking/postgres/ports';
import { useFixture } from '@bay-booking/testkit/fixture';
import { startProcess } from '@bay-booking/testkit/process';
import { root } from '@bay-booking/testkit/repository';

/** Starts the system before the tests of a file, and stops it after the tests. */
export const useSystem = (environment?: Record<string, string>) => useFixture(() => startSystem(environment));

/**
 * Starts the system, and waits until it is ready.
 * @throws {Error} with the output if `npm start` ends, or if the system is not ready after 150 s
 */
export async function startSystem(environment: Record<string, string> = {}) {
  const [authPort, bookingsPort] = (await freePorts(2)) as [number, number];
  const dataDir = await mkdtemp(join(tmpdir(), 'bay-booking-'));
  const launcher = startProcess('npm', ['start'], {
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
  });
  const close = async (): Promise<void> => {
    await launcher.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await launcher.untilPrinted(/is ready after/);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    auth: `http://localhost:${authPort}`,
    bookings: `http://localhost:${bookingsPort}`,
    dataDir,
    /** Everything that the launcher and the services have printed. */
    output: launcher.output,
    close,
  };
}
