// Reads postmaster.pid and stops servers that a killed launcher left behind. PostgreSQL's own check takes any process
// with the recorded id for its predecessor, even a zombie or an unrelated process, and then refuses to start.
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
 * The file's lines are: pid, data directory, start time, port, socket directory, address, shared memory key, status.
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
 * Stops a server that a killed launcher left behind, and removes its file. Returns true if such a server was running.
 */
export async function clearOrphan(data: string): Promise<boolean> {
  const orphan = readPostmaster(data);
  if (!orphan) return false;
  const alive = processState(orphan.pid) === 'running' && commandLine(orphan.pid).includes(data);
  if (alive) await stopPostmaster(orphan.pid);
  // Remaining backends may still use the shared memory. PostgreSQL checks that itself when it starts.
  rmSync(file(data), { force: true });
  return alive;
}

/** SIGINT is the fast shutdown: it ends sessions and flushes data. Stronger signals follow only if the server hangs. */
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
