// Measures targets in turn, and runs the load generator wrk.
// Other programs use the machine too, but a slow minute affects all targets of a round alike. Only ratios within one
// round are therefore compared.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cpuOf, cpuOfDatabase, memoryOf } from './machine.ts';

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  /** The name of its database. */
  readonly database: string;
}

/** `rate` is in requests per second. The response times are in milliseconds. */
interface Result {
  readonly requests: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
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

export interface Operation {
  /** The Lua script in bench/wrk/, which documents its arguments. */
  readonly script: string;
  /** Prepares the requests to this target for so many seconds, and returns the arguments of the script. */
  prepare(target: Target, seconds: number): Promise<readonly string[]> | readonly string[];
}

/** A target, and the operation with the requests that this target can answer. */
export type Pair = readonly [target: Target, operation: Operation];

export interface RunOptions {
  readonly rounds: number;
  readonly seconds: number;
  /** While V8 still compiles on the core of the target, 95 % of requests take up to 12 ms instead of 6. */
  readonly warmUpSeconds: number;
  /** The process id of PostgreSQL. */
  readonly postmaster: number;
  readonly log: (line: string) => void;
}

/** Measures the operation `name` of all targets, one after another, and so in each round. */
export async function measureInTurn(name: string, pairs: readonly Pair[], options: RunOptions): Promise<Sample[]> {
  const { rounds, seconds, warmUpSeconds, postmaster, log } = options;
  const samples: Sample[] = [];
  for (const [target, operation] of pairs)
    await runWrk(target, operation, await operation.prepare(target, warmUpSeconds), warmUpSeconds);
  for (let round = 0; round < rounds; round++) {
    for (const [target, operation] of round % 2 === 0 ? pairs : pairs.toReversed()) {
      const args = await operation.prepare(target, seconds);
      const [cpuBefore, databaseBefore] = [cpuOf(target.pid), cpuOfDatabase(postmaster, target.database)];
      const result = await runWrk(target, operation, args, seconds);
      const cpu = (cpuOf(target.pid) - cpuBefore) / result.requests;
      const databaseCpu = (cpuOfDatabase(postmaster, target.database) - databaseBefore) / result.requests;
      const memory = memoryOf(target.pid);
      samples.push({ operation: name, target: target.name, round, ...result, cpu, databaseCpu, memory });
    }
  }
  log(`measured ${name}: ${pairs.map(([target]) => target.name).join(', ')}`);
  return samples;
}

/** The number of concurrent requests. */
export const connections = 16;
export const execute = promisify(execFile);

async function runWrk({ url }: Target, { script }: Operation, args: readonly string[], seconds: number) {
  const load = ['--threads', '1', '--connections', `${connections}`, '--duration', `${seconds}s`, '--timeout', '5s'];
  const { stdout } = await execute('wrk', [...load, '--script', script, url, '--', ...args], {
    cwd: fileURLToPath(new URL('../wrk', import.meta.url)),
  });
  const line = stdout.split('\n').find((candidate) => candidate.startsWith('{'));
  const result = JSON.parse(line ?? '') as Result & { seconds: number };
  return { ...result, rate: result.requests / result.seconds };
}
