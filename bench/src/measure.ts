// Compares targets on a machine that other programs use too. Each round loads every target once, A B C then C B A,
// so that a slow minute affects all targets alike. Only ratios within a round count.
import { busyOfMachine, cpuOf, cpuOfEnded, cpuOfFamily, memoryOf } from './machine.ts';
import { type Load, runWrk } from './wrk.ts';

export const serviceCore = 0;
export const otherCore = 1;
export const defaultConnections = 16;

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

export interface Sample {
  readonly operation: string;
  readonly target: string;
  readonly round: number;
  readonly rate: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Microseconds of CPU time per request that the target uses. */
  readonly cpu: number;
  /** Microseconds of CPU time per request that PostgreSQL uses. */
  readonly databaseCpu: number;
  /** Megabytes of memory after the load. */
  readonly memory: number;
  /** Share of the machine's busy time that belongs to none of target, PostgreSQL and load. */
  readonly foreign: number;
  readonly bad: number;
}

export interface Operation {
  readonly name: string;
  /** The number of concurrent requests, if it is another one than usual. */
  readonly connections?: number;
  /** Returns the requests for this target and round; may prepare data first. */
  load(target: Target, round: number): Promise<Load> | Load;
  /** Receives the number of requests of each run. */
  ran?(requests: number): void;
}

export interface MeasureOptions {
  readonly operation: Operation;
  readonly targets: readonly Target[];
  readonly rounds: number;
  readonly seconds: number;
  readonly connections?: number;
  readonly postmaster: number | undefined;
  readonly log: (line: string) => void;
}

export async function measure(options: MeasureOptions): Promise<Sample[]> {
  const { operation, targets, rounds, seconds, log } = options;
  const samples: Sample[] = [];
  for (const target of targets) await loadOnce(options, target, -1, 1);
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
    // wrk has ended by now, so its CPU time counts as that of an ended child.
    own: cpuOf(process.pid) + cpuOfEnded(process.pid),
    machine: busyOfMachine(),
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
  const machine = busyOfMachine() - before.machine;
  operation.ran?.(result.requests);
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
    foreign: Math.max(0, 1 - (cpu + database + own) / Math.max(1, machine)),
    bad: result.bad,
  };
}
