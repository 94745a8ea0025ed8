// Generates load with the program wrk. A client in Node would use four times as much CPU time as the measured server.
// The Lua scripts in bench/wrk/ build the requests, and print the result as one line of JSON.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Load {
  /** The name of a Lua script in bench/wrk/. */
  readonly script: string;
  readonly args: readonly string[];
}

export interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
  /** `p50`, `p95` and `p99` are percentiles of the response times, and `max` is the maximum, all in milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  /** How many requests failed: with a status of 400 or above, a broken connection or a timeout. */
  readonly failed: number;
}

export interface WrkOptions extends Load {
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  /** The CPU core on which wrk runs. Undefined stands for any core. */
  readonly core: number | undefined;
}

const run = promisify(execFile);

export async function runWrk({ url, seconds, connections, core, script, args }: WrkOptions): Promise<WrkResult> {
  const file = fileURLToPath(new URL(`../wrk/${script}`, import.meta.url));
  const duration = `${Math.max(1, Math.round(seconds))}s`;
  const limits = ['--threads', '1', '--connections', String(connections), '--duration', duration, '--timeout', '5s'];
  const wrk = ['wrk', ...limits, '--script', file, url, '--', ...args];
  const [command = '', ...rest] = core === undefined ? wrk : ['taskset', '-c', String(core), ...wrk];
  const { stdout, stderr } = await run(command, rest, {
    // wrk is stopped if it has not ended 20 s after the load.
    timeout: (seconds + 20) * 1000,
    cwd: fileURLToPath(new URL('../wrk', import.meta.url)),
  });
  const line = stdout.split('\n').find((candidate) => candidate.startsWith('{'));
  if (!line) throw new Error(`wrk printed no result: ${stderr || stdout}`);
  return JSON.parse(line) as WrkResult;
}
