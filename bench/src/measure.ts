// Measures targets in turn, and runs the load generator wrk.
// Other programs use the machine too, but a slow minute affects all targets of a round alike. Only ratios within one
// round are therefore compared.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cpuOf, cpuOfFamily, memoryOf } from './machine.ts';

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

/** `rate` is in requests per second. The response times are in milliseconds, and NaN if they are not measured. */
export interface Result {
  readonly requests: number;
  readonly rate: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly failed: number;
}

export const withoutTimes = { p50: Number.NaN, p95: Number.NaN, p99: Number.NaN, failed: 0 };

export interface Runner {
  readonly operation: string;
  readonly target: string;
  /** The process whose CPU time and memory are measured, if there is one. */
  readonly pid?: number;
  /** Prepares a load for so many seconds, and returns the function that runs it. */
  prepare(seconds: number): Promise<() => Promise<Result>>;
}

/** `cpu` and `databaseCpu` are in microseconds per request, `memory` is in megabytes. */
export interface Sample extends Result {
  readonly operation: string;
  readonly target: string;
  readonly round: number;
  readonly cpu: number;
  readonly databaseCpu: number;
  readonly memory: number;
}

export interface RunOptions {
  readonly rounds: number;
  readonly seconds: number;
  /** Before, V8 compiles on the core of the target, and the p95 of a request is 12 ms instead of 6. */
  readonly warmUpSeconds: number;
  /** The process id of PostgreSQL. */
  readonly postmaster: number;
  readonly log: (line: string) => void;
}

export async function measureInTurn(runners: readonly Runner[], options: RunOptions): Promise<Sample[]> {
  const { rounds, seconds, warmUpSeconds, postmaster, log } = options;
  const samples: Sample[] = [];
  for (const { prepare } of runners) await (await prepare(warmUpSeconds))();
  for (let round = 0; round < rounds; round++) {
    for (const { operation, target, pid, prepare } of round % 2 === 0 ? runners : runners.toReversed()) {
      const run = await prepare(seconds);
      const [cpuBefore, databaseBefore] = [cpuOf(pid), cpuOfFamily(postmaster)];
      const result = await run();
      const cpu = (cpuOf(pid) - cpuBefore) / result.requests;
      const databaseCpu = (cpuOfFamily(postmaster) - databaseBefore) / result.requests;
      samples.push({ operation, target, round, ...result, cpu, databaseCpu, memory: memoryOf(pid) });
    }
  }
  log(`measured ${runners.map(({ operation, target }) => `${operation} ${target}`).join(', ')}`);
  return samples;
}

export interface Operation {
  /** The Lua script in bench/wrk/, which documents its arguments. */
  readonly script: string;
  /** Prepares the requests to this target for so many seconds, and returns the arguments of the script. */
  prepare(target: Target, seconds: number): Promise<readonly string[]> | readonly string[];
}

/** The number of concurrent requests. */
export const connections = 16;
export const execute = promisify(execFile);

export const wrkRunner = (name: string, target: Target, operation: Operation): Runner => ({
  operation: name,
  target: target.name,
  pid: target.pid,
  prepare: async (seconds) => {
    const args = await operation.prepare(target, seconds);
    const load = ['--threads', '1', '--connections', `${connections}`, '--duration', `${seconds}s`, '--timeout', '5s'];
    return async () => {
      const { stdout } = await execute('wrk', [...load, '--script', operation.script, target.url, '--', ...args], {
        cwd: fileURLToPath(new URL('../wrk', import.meta.url)),
      });
      const line = stdout.split('\n').find((candidate) => candidate.startsWith('{'));
      const result = JSON.parse(line ?? '') as Result & { seconds: number };
      return { ...result, rate: result.requests / result.seconds };
    };
  },
});
