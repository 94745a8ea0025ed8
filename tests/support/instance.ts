// Starts instances of the services as processes. Tests can stop and kill them, and read their logs and metrics.
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from '@bay-booking/postgres/ports';
import { startProcess } from '@bay-booking/testkit/process';
import { root } from '@bay-booking/testkit/repository';
import { eventually } from '@bay-booking/testkit/wait';
import { type AppName, nodeEnvironment } from './commands.ts';

export interface Instance {
  /** The address of the instance, without a trailing slash. */
  readonly base: string;
  readonly child: ChildProcess;
  /** Returns the lines that the instance has logged so far. */
  readonly log: () => readonly Record<string, unknown>[];
  /** Returns the sum of the values in all lines of /metrics that match the pattern. */
  readonly metric: (pattern: RegExp) => Promise<number>;
  readonly isReady: () => Promise<boolean>;
  /** Ends the instance with a signal. Returns the exit code, or the signal when it killed the process. */
  readonly stop: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number | string>;
}

const running = new Set<Instance>();

/**
 * Whether a request to the URL returns a success status.
 * @throws {Error} when there is no response within 5 s
 */
const isOk = async (url: string): Promise<boolean> => (await fetch(url, { signal: AbortSignal.timeout(5_000) })).ok;

export interface InstanceOptions {
  /** Default: a free port. */
  readonly port?: number;
  /** The health check that must succeed before the instance counts as started. Default: `ready`. */
  readonly waitFor?: 'live' | 'ready';
  /** The file descriptor to which the instance writes its log. `log()` then returns an empty list. */
  readonly logTo?: number;
  /** The folder of another release. Default: this repository. */
  readonly release?: string;
}

/**
 * Starts an instance, and waits until the health check `waitFor` succeeds. The instance stops when the process of the
 * tests ends, because this closes its IPC channel.
 * @throws {Error} with the output when the instance does not start within 30 s
 */
export async function startInstance(
  app: AppName,
  environment: Record<string, string>,
  { port, waitFor = 'ready', logTo, release = root }: InstanceOptions = {},
): Promise<Instance> {
  const listeningPort = port ?? (await freePort());
  const base = `http://localhost:${listeningPort}`;
  const service = startProcess(process.execPath, ['src/main.ts'], {
    cwd: join(release, 'apps', app),
    env: { ...nodeEnvironment, PORT: String(listeningPort), ...environment },
    stdio: ['ignore', logTo ?? 'pipe', 'pipe', 'ipc'],
  });
  const instance: Instance = {
    base,
    child: service.child,
    log: () =>
      service
        .output()
        .split('\n')
        // The last line may be incomplete. Messages of Node are not JSON.
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line)),
    metric: async (pattern) => {
      const text = await (await fetch(`${base}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
      return text
        .split('\n')
        .filter((line) => pattern.test(line))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    },
    isReady: () => isOk(`${base}/health/ready`),
    stop: (signal) => {
      running.delete(instance);
      return service.stop(signal);
    },
  };
  running.add(instance);
  try {
    await eventually(() => isOk(`${base}/health/${waitFor}`));
  } catch (error) {
    throw new Error(`${app} did not start:\n${service.errors()}${service.output()}`, { cause: error });
  }
  return instance;
}

/** Kills the instances that are still running. */
export async function stopInstances(): Promise<void> {
  await Promise.all([...running].map((instance) => instance.stop('SIGKILL')));
}
