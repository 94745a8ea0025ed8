// Compares targets (the servers to measure). Each round sends load to every target once, and the next round measures
// the targets in reverse order. Other programs use the machine too, but a slow minute affects all targets of a round
// alike. Comparisons use only ratios within one round.
import { cpuOf, cpuOfEnded, cpuOfFamily, cpuOfMachine, memoryOf } from './machine.ts';
import { type Load, runWrk } from './wrk.ts';

/** The CPU core of the measured server. */
export const serviceCore = 0;
/** The CPU core of PostgreSQL and of the load generator. */
export const otherCore = 1;
export const defaultConnections = 16;
/** The number of the round that warms the targets up. The measured rounds have the numbers from 0. */
const warmUpRound = -1;

/** The options that all measurements of a run share. */
export interface RunOptions {
  /** The process id of PostgreSQL. If it is undefined, the CPU time of PostgreSQL is not measured. */
  readonly postmaster: number | undefined;
  /** The folder for files such as the requests that wrk reads. */
  readonly folder: string;
  readonly rounds: number;
  /** The duration of the load on a target in each round. */
  readonly seconds: number;
  readonly log: (line: string) => void;
}

export interface ServiceRunOptions extends RunOptions {
  readonly databaseUrl: string;
  /** The names of the measured operations or comparisons. An empty list stands for all of them. */
  readonly only: readonly string[];
  /** The folder for a CPU profile of the service. If it is undefined, no profile is written. */
  readonly profile: string | undefined;
}

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

export interface Sample {
  readonly operation: string;
  readonly target: string;
  readonly round: number;
  /** Requests per second. */
  readonly rate: number;
  /** Percentiles of the response times, in milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** CPU time of the target per request, in microseconds. */
  readonly cpu: number;
  /** CPU time of PostgreSQL per request, in microseconds. */
  readonly databaseCpu: number;
  /** Memory of the target after the load, in megabytes. */
  readonly memory: number;
  /** The share of the machine's CPU time that was used by neither the target, PostgreSQL nor the load generator. */
  readonly foreign: number;
  readonly failed: number;
}

/** The placeholders in a sample for costs that a comparison does not measure. */
export const unknownCosts = {
  p50: Number.NaN,
  p95: Number.NaN,
  p99: Number.NaN,
  cpu: Number.NaN,
  databaseCpu: Number.NaN,
  memory: Number.NaN,
  foreign: Number.NaN,
  failed: 0,
};

export interface Operation {
  readonly name: string;
  /** The number of concurrent requests. Default: `defaultConnections`. */
  readonly connections?: number;
  /** Returns the requests for this target and round. May prepare data first. */
  load(target: Target, round: number): Promise<Load> | Load;
  /** `requests` is the number of requests that were sent. */
  afterMeasurement?(requests: number): void;
}

export interface MeasureOptions extends Omit<RunOptions, 'folder'> {
  readonly operation: Operation;
  readonly targets: readonly Target[];
  /** The number of concurrent requests of an operation that does not set its own number. */
  readonly connections?: number;
}

export async function measure(options: MeasureOptions): Promise<Sample[]> {
  const { operation, targets, rounds, seconds, log } = options;
  const samples: Sample[] = [];
  // One second of load warms each target up. The sample is not used.
  for (const target of targets) await loadOnce(options, target, warmUpRound, 1);
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? targets : targets.toReversed();
    for (const target of order) samples.push(await loadOnce(options, target, round, seconds));
  }
  log(`${operation.name}: ${targets.length} targets, ${rounds} rounds of ${seconds} s`);
  return samples;
}

async function loadOnce(options: MeasureOptions, target: Target, round: number, seconds: number): Promise<Sample> {
  const { operation, postmaster, connections = defaultConnections } = options;
  const load = await operation.load(target, round);
  const before = {
    cpu: cpuOf(target.pid),
    database: cpuOfFamily(postmaster),
    // The CPU time of this process and of its ended child processes. wrk is a child process, and has ended when this
    // time is read again. The difference therefore includes the CPU time of wrk.
    own: cpuOf(process.pid) + cpuOfEnded(process.pid),
    machine: cpuOfMachine(),
  };
  const result = await runWrk({
    ...load,
    url: target.url,
    seconds,
    connections: operation.connections ?? connections,
    core: otherCore,
  });
  const cpu = cpuOf(target.pid) - before.cpu;
  const database = cpuOfFamily(postmaster) - before.database;
  const own = cpuOf(process.pid) + cpuOfEnded(process.pid) - before.own;
  const machine = cpuOfMachine() - before.machine;
  operation.afterMeasurement?.(result.requests);
  return {
    operation: operation.name,
    target: target.name,
    round,
    rate: result.requests / result.seconds,
    p50: result.p50,
    p95: result.p95,
    p99: result.p99,
    cpu: cpu / result.requests,
    databaseCpu: postmaster ? database / result.requests : Number.NaN,
    memory: memoryOf(target.pid),
    // The clocks of the CPU times are coarse, so `machine` can be 0, and the sum can be larger than `machine`.
    foreign: Math.max(0, 1 - (cpu + database + own) / Math.max(1, machine)),
    failed: result.failed,
  };
}
