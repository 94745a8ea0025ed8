// Uses postmaster.pid as the lock of a data directory: finds the launcher whose server holds the lock and stops a
// server whose launcher was killed.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findProcess, signal, waitForEnd } from './processes.ts';

export function readPostmaster(data: string) {
  try {
    const [pid, _data, _startTime, port, _socketFolder, _address, _sharedMemory, status] = readFileSync(
      join(data, 'postmaster.pid'),
      'utf8',
    ).split('\n');
    return Number(pid) > 0 ? { pid: Number(pid), port: Number(port), isReady: status?.trim() === 'ready' } : undefined;
  } catch {
    return undefined;
  }
}

/** This setting has no effect. It shows in the server's command line which process started the server. */
export const launcherSetting = 'bay_booking.launcher';

/** Returns the running server that uses the data and its launcher, if the launcher is still running. */
export function findServer(data: string): { pid: number; launcher: number | undefined } | undefined {
  const pid = readPostmaster(data)?.pid;
  const found = pid === undefined ? undefined : findProcess(pid);
  // After a reboot, for example, an unrelated process can have the recorded id.
  if (!pid || !found?.command.includes(` ${data} `)) return undefined;
  // If the launcher has ended, the server has another parent, even if another process got the launcher's id.
  const hasLauncher = found.command.includes(` ${launcherSetting}=${found.parentPid} `);
  return { pid, launcher: hasLauncher ? found.parentPid : undefined };
}

/**
 * Stops a server that a killed launcher left running. Returns whether such a server was running.
 *
 * @throws {Error} if the server's launcher is still running
 */
export async function takeOver(data: string): Promise<boolean> {
  const recorded = readPostmaster(data)?.pid;
  const server = findServer(data);
  if (server?.launcher)
    throw new Error(`the running process ${server.launcher} already uses the database files in ${data}`);
  if (server) await stopPostmaster(server.pid);
  // PostgreSQL does not start if any process, even a zombie or an unrelated one, has the recorded id. If the id has
  // changed, another launcher has taken over the data.
  if (recorded && readPostmaster(data)?.pid === recorded) rmSync(join(data, 'postmaster.pid'), { force: true });
  return server !== undefined;
}

/** SIGINT requests a fast but clean shutdown. Stronger signals follow if the server does not exit. */
export async function stopPostmaster(pid: number): Promise<void> {
  for (const [name, milliseconds] of [
    ['SIGINT', 45_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    signal(pid, name);
    if (await waitForEnd(pid, milliseconds)) return;
  }
  throw new Error(`the PostgreSQL server (process ${pid}) does not stop`);
}
