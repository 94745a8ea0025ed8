// Uses postmaster.pid as the lock of a data directory: finds the launcher whose server holds the lock and stops a
// server whose launcher was killed.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

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
