// Runs the commands and services of the apps as child processes, and prints their output after the name of the app.
//
// When the launcher ends, the IPC channels to its services close, and the services stop. The launcher also writes a
// list of its services to a file, so that the next launcher can stop services that are still running.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { processIdentity, signal, waitForEnd } from '@bay-booking/postgres/processes';
import { printableLines } from './service-output.ts';
import type { AppName, Environment } from './settings.ts';

/** How long to wait for a stopped service, which may take 30 s to finish the requests in progress. */
const STOP_LIMIT_MS = 35_000;
/**
 * How long to wait until services that a killed launcher has left behind have stopped. The new launcher is waiting for
 * their ports, so the time is short, and requests in progress may be lost.
 */
const ORPHAN_STOP_LIMIT_MS = 5_000;

interface ChildOptions {
  app: AppName;
  folder: string;
  env: Environment;
  print: (line: string) => void;
}

/**
 * Runs a command of an app and waits until it has ended. `input` is written to the standard input of the command.
 * @throws {Error} if the command fails or the signal aborts
 */
export async function runCommand(
  options: ChildOptions & { args: readonly string[]; input?: string; signal: AbortSignal },
): Promise<void> {
  const { app, folder, env, args, input } = options;
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: options.signal,
  });
  // Writing fails if the command ends before it has read its input. The error is ignored, because the exit code shows
  // whether the command failed.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  printLines(options, [child.stdout, child.stderr]);
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, name) => {
      if (code === 0) resolve();
      else reject(new Error(`${app}: ${args.join(' ')} failed with ${name ?? `exit code ${code}`}`));
    });
  });
}

export interface Service {
  app: AppName;
  child: ChildProcess;
  /** Resolves with a message when the service has ended. */
  ended: Promise<string>;
  stop(): Promise<void>;
  kill(): void;
}

export function startService(options: ChildOptions & { watch: boolean }): Service {
  const { app, folder, env, watch, print } = options;
  const watchFlags = watch ? ['--watch', '--watch-preserve-output'] : [];
  // start.sh runs Node with `exec`. Node replaces the shell, and receives the signals and the IPC channel. With this
  // PATH, start.sh finds the Node that runs this process.
  const child = spawn('sh', ['start.sh', ...watchFlags], {
    cwd: folder,
    env: { ...env, PATH: `${dirname(process.execPath)}${delimiter}${env.PATH ?? ''}` },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  // Neither stream is null, because both are pipes.
  printLines(options, [child.stdout as Readable, child.stderr as Readable]);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`${app} could not be started: ${error.message}`));
    child.once('exit', (code, name) => resolve(`${app} has ended with ${name ?? `exit code ${code}`}`));
  });
  // A process that could not be started has no id.
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    app,
    child,
    ended,
    stop: async () => {
      if (hasEnded()) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => {
        print(`${app} did not stop within ${STOP_LIMIT_MS / 1000} s and was killed`);
        child.kill('SIGKILL');
      }, STOP_LIMIT_MS);
      await ended;
      clearTimeout(timer);
    },
    kill: () => {
      if (!hasEnded()) child.kill('SIGKILL');
    },
  };
}

function printLines({ app, env, print }: ChildOptions, streams: readonly Readable[]): void {
  // The log lines of requests and audit events are printed only if the developer has set LOG_LEVEL.
  const showRequests = Boolean(env.LOG_LEVEL);
  for (const input of streams)
    createInterface({ input }).on('line', (line) => {
      for (const printed of printableLines(app, line, showRequests)) print(printed);
    });
}

/**
 * Returns the text that stopOrphanedServices reads, with one line for each service. The line contains the id of the
 * process, and a text that distinguishes this process from a later process with the same id.
 */
export function describeServices(services: readonly Service[]): string {
  return services.map(({ child: { pid } }) => `${pid} ${pid ? processIdentity(pid) : ''}\n`).join('');
}

/**
 * Stops the services that a killed launcher has listed in `file`. Most services stop by themselves, but a service that
 * was still starting may not have noticed that its launcher has ended.
 */
export async function stopOrphanedServices(file: string): Promise<void> {
  if (!existsSync(file)) return;
  const orphans = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => /^(\d+) (.+)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, pid, identity]) => ({ pid: Number(pid), identity }))
    .filter(({ pid, identity }) => processIdentity(pid) === identity);
  for (const { pid } of orphans) signal(pid, 'SIGTERM');
  await Promise.all(
    orphans.map(async ({ pid }) => {
      if (await waitForEnd(pid, ORPHAN_STOP_LIMIT_MS)) return;
      signal(pid, 'SIGKILL');
      await waitForEnd(pid, ORPHAN_STOP_LIMIT_MS);
    }),
  );
  rmSync(file, { force: true });
}
