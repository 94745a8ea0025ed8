// Checks whether a process is running, a zombie or gone, and identifies it. Also sends signals to processes, and waits
// for their end. Process ids are reused after a reboot or in a restarted container, so a process is identified by its
// id together with its start time.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

export type ProcessState = 'running' | 'zombie' | 'gone';

/**
 * Reads the state and the start time of a process from /proc/PID/stat, which exists only on Linux. The second field is
 * the name of the process in brackets, which may contain spaces and brackets. The state is field 3, and the start time
 * in clock ticks is field 22 (proc_pid_stat(5)).
 */
function readStat(pid: number): { state: string; startTicks: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fieldsFrom3 = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fieldsFrom3[0] as string, startTicks: fieldsFrom3[22 - 3] as string };
  } catch {
    return undefined;
  }
}

/** Returns a column of the output of `ps`, which replaces /proc on other systems than Linux. */
function ps(pid: number, column: string): string | undefined {
  try {
    return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

const isLinux = process.platform === 'linux';

export function processState(pid: number): ProcessState {
  try {
    // Signal 0 only checks whether the process exists. ESRCH means that it does not. The error EPERM means that it
    // exists and belongs to another user.
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'gone';
  }
  const state = isLinux ? readStat(pid)?.state : ps(pid, 'stat');
  // The process has ended since the check above.
  if (isLinux && state === undefined) return 'gone';
  // `X` is a process that has ended and is being removed.
  return state?.startsWith('Z') || state?.startsWith('X') ? 'zombie' : 'running';
}

/**
 * Returns a text that distinguishes the process from earlier and later processes with the same id: its start time. On
 * Linux, the start time is counted from the boot of the machine, so the text also has the id of the boot.
 */
export function processIdentity(pid: number): string | undefined {
  if (!isLinux) return ps(pid, 'lstart');
  const startTicks = readStat(pid)?.startTicks;
  if (startTicks === undefined) return undefined;
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${startTicks}`;
}

/** Returns the program and the arguments of a process, or an empty string if the process has ended. */
export function commandLine(pid: number): string {
  if (!isLinux) return ps(pid, 'command') ?? '';
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Sends a signal. A process that has already ended is not an error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Waits until the process is gone or a zombie. Returns false if it still runs after the given time. */
export async function waitForEnd(pid: number, milliseconds: number): Promise<boolean> {
  const deadline = Date.now() + milliseconds;
  while (processState(pid) === 'running') {
    if (Date.now() > deadline) return false;
    await pause(20);
  }
  return true;
}
