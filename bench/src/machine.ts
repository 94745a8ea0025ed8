// Reads the CPU time and memory of processes from /proc.
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

/** The core of the measured server. The script `bench` in package.json names the core of everything else. */
export const serviceCore = 0;
/** Linux reports CPU times in ticks, 100 of them per second. */
const tickMicroseconds = 10_000;

/** Returns an empty string if the process has ended. */
function readProcess(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Returns the fields of proc_pid_stat(5) after the name of the process: the first is number 3. */
function statOf(pid: number | string): readonly number[] {
  const text = readProcess(pid, 'stat');
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
}

const sumOf = (stat: readonly number[], from: number, to: number): number =>
  stat.slice(from - 3, to - 2).reduce((sum, ticks) => sum + ticks, 0) * tickMicroseconds;

/** Returns the CPU time of a process in microseconds. */
export const cpuOf = (pid: number | string): number => sumOf(statOf(pid), 14, 15);

/** Returns the CPU time of the running PostgreSQL processes of a database, in microseconds. */
export function cpuOfDatabase(postmaster: number, database: string): number {
  const processes = readdirSync('/proc').filter(
    (name) =>
      /^\d+$/.test(name) &&
      statOf(name)[1] === postmaster &&
      readProcess(name, 'cmdline').split(' ').includes(database),
  );
  return processes.reduce((sum, pid) => sum + cpuOf(pid), 0);
}

/** Returns the memory of a process in megabytes, or NaN if it has ended. */
export const memoryOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readProcess(pid, 'status'))?.[1]) / 1024;

export const describeMachine = (): string =>
  `${cpus().length} cores (${cpus()[0]?.model}), ${Math.round(totalmem() / 2 ** 30)} GB, ` +
  `Node ${process.versions.node}`;
