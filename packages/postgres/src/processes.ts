// Checks whether other processes run, sends them signals and waits until they exit.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Returns undefined if no process has this id, or if the process is a zombie. `command` is the program and its
 * arguments, separated by spaces.
 */
export function findProcess(pid: number) {
  try {
    const [state, parent, command] = process.platform === 'linux' ? readProc(pid) : runPs(pid);
    // `X` is a process that is being removed.
    return /^[ZX]/.test(state) ? undefined : { parentPid: Number(parent), command };
  } catch {
    return undefined;
  }
}

type ProcessFields = [state: string, parent: string, command: string];

function readProc(pid: number): ProcessFields {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in brackets, which may contain spaces and brackets (proc_pid_stat(5)).
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ') as [string, string];
  return [state, parent, readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trimEnd()];
}

function runPs(pid: number): ProcessFields {
  const output = execFileSync('ps', ['-ww', '-o', 'stat=,ppid=,command=', '-p', String(pid)], { encoding: 'utf8' });
  return /^(\S+)\s+(\d+)\s+(.*)/.exec(output.trim())?.slice(1) as ProcessFields;
}

/** Does nothing if the process has already ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns false if the process is still running after this time. */
export async function waitForEnd(pid: number, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds;
  while (findProcess(pid)) {
    if (Date.now() > deadline) return false;
    await pause(20);
  }
  return true;
}
