// Starts the services and the other targets as child processes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@bay-booking/postgres/ports';
import { serviceCore } from './machine.ts';
import { execute, type Target } from './measure.ts';

/** A running target. */
export interface Child extends Target {
  stop(): Promise<void>;
}

type App = 'auth' | 'bookings';
type Environment = Readonly<Record<string, string>>;

export const thisRelease = fileURLToPath(new URL('../..', import.meta.url));
const compileCache = fileURLToPath(new URL('../.data/compile-cache', import.meta.url));
const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a service of a release as in production: with its script `start` and environment variables. */
export async function startService(
  name: string,
  release: string,
  app: App,
  environment: (port: number) => Environment & { readonly DATABASE_URL: string },
): Promise<Child> {
  const cwd = join(release, 'apps', app);
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as { scripts: { start: string } };
  const port = await freePort();
  const env = { PORT: String(port), ...environment(port) };
  const target = { name, database: databaseOf(env.DATABASE_URL), port };
  return start(target, ['sh', '-c', scripts.start], '/health/ready', { cwd, env });
}

/** Starts a program of `targets/`, which gets these options and its port as JSON. */
export async function startProgram(name: string, options: Environment & { readonly databaseUrl: string }) {
  const port = await freePort();
  const file = fileURLToPath(new URL(`targets/${name}.ts`, import.meta.url));
  const target = { name, database: databaseOf(options.databaseUrl), port };
  return start(target, [process.execPath, file, JSON.stringify({ ...options, port })], '/ready');
}

const databaseOf = (url: string): string => new URL(url).pathname.slice(1);

async function start(
  { name, database, port }: Pick<Target, 'name' | 'database'> & { readonly port: number },
  command: readonly string[],
  readyPath: string,
  { cwd, env }: { cwd?: string; env?: Environment } = {},
): Promise<Child> {
  const url = `http://127.0.0.1:${port}`;
  const child = spawn('taskset', ['-c', String(serviceCore), ...command], {
    ...(cwd && { cwd }),
    env: { PATH, NODE_ENV: 'production', NODE_COMPILE_CACHE: compileCache, ...env },
    // A program of `targets/` ends when its IPC channel closes.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const deadline = Date.now() + 60_000;
  while (!(await fetch(url + readyPath).catch(() => undefined))?.ok) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${name} did not start`);
    await sleep(50);
  }
  return {
    name,
    database,
    pid: child.pid as number,
    url,
    stop: async () => {
      if (child.kill('SIGTERM')) await once(child, 'exit');
    },
  };
}

/** Runs a command of a service, such as `migrate`. */
export async function runCommand(
  release: string,
  app: App,
  command: string,
  args: readonly string[],
  env: Environment,
): Promise<void> {
  const cwd = join(release, 'apps', app);
  await execute(process.execPath, [`src/commands/${command}.ts`, ...args], { cwd, env: { PATH, ...env } });
}
