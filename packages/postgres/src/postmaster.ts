// Reads postmaster.pid, the file with the process id of a PostgreSQL server, and stops a server that a killed launcher
// has left behind. PostgreSQL checks this file too, but refuses to start if any process has the recorded id, even if
// this process is a zombie or unrelated.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, processState, signal, waitForEnd } from './processes.ts';

export interface Postmaster {
  pid: number;
  port: number;
  /** Whether the server accepts connections. */
  isReady: boolean;
}

const postmasterFile = (data: string) => join(data, 'postmaster.pid');

/** Reads postmaster.pid in the data directory. Returns undefined if the file is missing or incomplete. */
export function readPostmaster(data: string): Postmaster | undefined {
  try {
    const [pidLine, _data, _startTime, portLine, _socketFolder, _address, _sharedMemory, status] = readFileSync(
      postmasterFile(data),
      'utf8',
    ).split('\n');
    const pid = Number(pidLine);
    return pid > 0 ? { pid, port: Number(portLine), isReady: status?.trim() === 'ready' } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Stops a server that a killed launcher has left behind, and removes its postmaster.pid. Returns whether such a server
 * was running.
 */
export async function stopOrphan(data: string): Promise<boolean> {
  const orphan = readPostmaster(data);
  if (!orphan) return false;
  // An unrelated process can have the same id, so the command line is checked.
  const isRunning = processState(orphan.pid) === 'running' && commandLine(orphan.pid).includes(data);
  if (isRunning) await stopPostmaster(orphan.pid);
  // Child processes of the old server may still run. Deleting postmaster.pid is safe even then: before PostgreSQL uses
  // a data directory, it checks whether any process still uses the shared memory of this directory. If PostgreSQL finds
  // such a process, it does not start. This check does not need postmaster.pid.
  rmSync(postmasterFile(data), { force: true });
  return isRunning;
}

/**
 * Stops a server. SIGINT requests the fast shutdown, which ends the sessions and writes all data to disk. Stronger
 * signals follow only if the server does not end.
 * @throws {Error} if the server still runs after all signals
 */
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
