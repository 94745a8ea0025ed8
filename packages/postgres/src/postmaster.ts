// Reads postmaster.pid, the file with the process id of a PostgreSQL server, and stops a server that a killed launcher
// left behind. PostgreSQL reads postmaster.pid itself, but it refuses to start if any process has the recorded id, even
// a zombie or an unrelated process.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, processState, signal, waitForEnd } from './processes.ts';

export interface Postmaster {
  pid: number;
  port: number;
  ready: boolean;
}

const file = (data: string) => join(data, 'postmaster.pid');

/**
 * The lines of the file are: pid, data directory, start time, port, socket directory, address, shared memory key and
 * status.
 */
export function readPostmaster(data: string): Postmaster | undefined {
  try {
    const lines = readFileSync(file(data), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Stops a server that a killed launcher left behind, and removes its postmaster.pid. Returns true if such a server was
 * running.
 */
export async function clearOrphan(data: string): Promise<boolean> {
  const orphan = readPostmaster(data);
  if (!orphan) return false;
  const alive = processState(orphan.pid) === 'running' && commandLine(orphan.pid).includes(data);
  if (alive) await stopPostmaster(orphan.pid);
  // Other processes of that server may still run and use its shared memory. PostgreSQL checks this when it starts.
  rmSync(file(data), { force: true });
  return alive;
}

/**
 * Stops a server. SIGINT requests the fast shutdown, which ends the sessions and writes all data to disk. Stronger
 * signals follow only if the server does not end.
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
