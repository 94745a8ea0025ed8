// Reads the CPU time and memory of processes from /proc, and binds processes to CPU cores. /proc exists only on Linux.
// PostgreSQL consists of many processes, so its CPU time includes child processes that have already ended.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';

/** The unit of CPU times in /proc, in microseconds. Linux reports these times in ticks, 100 of them per second. */
const tickMicroseconds = 10_000;

interface Stat {
  readonly parent: number;
  /** CPU time of the process and its threads, in microseconds. */
  readonly cpu: number;
  /** CPU time of child processes that have ended, in microseconds. */
  readonly cpuOfEnded: number;
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name of the process. It is in brackets and may contain spaces, so only the text after the
    // closing bracket is split. The first element of `fields` is therefore field number 3.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const field = (number: number) => fields[number - 3] ?? 0;
    // The CPU time is divided into two fields: in user mode and in the kernel.
    const ticks = (user: number, kernel: number) => (field(user) + field(kernel)) * tickMicroseconds;
    return { parent: field(4), cpu: ticks(14, 15), cpuOfEnded: ticks(16, 17) };
  } catch {
    return undefined;
  }
}

/** Returns the CPU time of a process, in microseconds. Returns 0 if the process has ended. */
export function cpuOf(pid: number): number {
  return statOf(pid)?.cpu ?? 0;
}

/** CPU time, in microseconds, of the child processes that have ended. */
export function cpuOfEnded(pid: number): number {
  return statOf(pid)?.cpuOfEnded ?? 0;
}

/** CPU time, in microseconds, of a process and all its children, both running and ended. Without a process, 0. */
export function cpuOfFamily(pid: number | undefined): number {
  if (!pid) return 0;
  const own = statOf(pid);
  let sum = own ? own.cpu + own.cpuOfEnded : 0;
  for (const child of childrenOf(pid)) sum += cpuOf(child);
  return sum;
}

function childrenOf(pid: number): number[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return numbers.map(Number).filter((candidate) => statOf(candidate)?.parent === pid);
}

/** Returns the CPU time, in microseconds, that all processes have used since this machine started. */
export function cpuOfMachine(): number {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/).slice(1).map(Number) ?? [];
  // The two fields that are left out, idle and iowait, are times without work.
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = fields;
  return (user + nice + system + irq + softirq) * tickMicroseconds;
}

/** Returns the memory of a process, in megabytes. */
export function memoryOf(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}

/** Binds a running process, its threads and its children to one CPU core. Later children inherit the binding. */
export function pin(pid: number, core: number): void {
  for (const id of [pid, ...childrenOf(pid)])
    execFileSync('taskset', ['-a', '-c', '-p', String(core), String(id)], { stdio: 'ignore' });
}

export function findMissingRequirement(): string | undefined {
  if (!existsSync('/proc/self/stat')) return 'The benchmark reads CPU times from /proc, so it needs Linux.';
  if (availableParallelism() < 2)
    return 'The benchmark needs two cores: one for the service, one for PostgreSQL and the load.';
  const missing = ['wrk', 'taskset'].filter((program) => !hasProgram(program));
  if (missing.length === 0) return undefined;
  return `Not found: ${missing.join(', ')}. On Debian and Ubuntu: apt-get install wrk util-linux`;
}

export function hasProgram(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export function describeMachine(): string {
  const model = cpus()[0]?.model ?? 'unknown processor';
  return `${availableParallelism()} cores (${model}), ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform}, Node ${process.versions.node}`;
}
