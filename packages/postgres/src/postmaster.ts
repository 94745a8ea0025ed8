// What does postmaster.pid say, and does that process still live? PostgreSQL's own check takes any process of that id for its
// predecessor, a zombie or a stranger included, and then refuses to start.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, processState, signal, waitForEnd } from './processes.ts';

export interface Postmaster {
  pid: number;
  port: number;
  ready: boolean;
}

const file = (data: string) => join(data, 'postmaster.pid');

/** The lines of the file: pid, data directory, start, port, socket directory, address, shared memory key, status. */
export function readPostmaster(data: string): Postmaster | undefined {
  try {
    const lines = readFileSync(file(data), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : undefined;
  } catch {
    return undefined;
  }
}

/** Stops a server that a killed launcher left behind, and removes the file of one that is dead. True when there was a live one. */
export async function clearOrphan(data: string): Promise<boolean> {
  const orphan = readPostmaster(data);
  if (!orphan) return false;
  const alive = processState(orphan.pid) === 'running' && commandLine(orphan.pid).includes(data);
  if (alive) await stopPostmaster(orphan.pid);
  // Its remaining backends, if any, still hold the shared memory: that check of PostgreSQL's is left to it.
  rmSync(file(data), { force: true });
  return alive;
}

/** SIGINT is the fast shutdown: sessions are ended, data are flushed. Harder signals follow only when it hangs. */
export async function stopPostmaster(pid: number): Promise<void> {
  for (const [name, patience] of [
    ['SIGINT', 45_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    signal(pid, name);
    if (await waitForEnd(pid, patience)) return;
  }
  throw new Error(`the PostgreSQL server, process ${pid}, does not end`);
}
