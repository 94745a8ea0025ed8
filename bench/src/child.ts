// Starts a target as a child process on one core, and waits until it responds over HTTP. When the benchmark ends, the
// IPC channel to the child closes, and the child stops. The exit handler of the benchmark kills children that still
// run.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export interface Child {
  readonly pid: number;
  readonly url: string;
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly name: string;
  /** A program for Node, or the package.json of a service. A service is started with its script `start`. */
  readonly script: string;
  /** The arguments of a program. The script of a service gets none. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The CPU core on which the child runs. Undefined stands for any core. */
  readonly core: number | undefined;
  readonly port: number;
  /** A path that returns 200 when the target can serve requests. */
  readonly readyPath: string;
  readonly nodeFlags?: readonly string[];
}

/** Returns the flags with which Node writes a CPU profile to the folder, or no flags without a folder. */
export const profileFlags = (folder: string | undefined): readonly string[] =>
  folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];

// The folder of Node's compile cache. In production, the services use a compile cache too.
const compileCache = fileURLToPath(new URL('../.data/compile-cache', import.meta.url));
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, script, args = [], env = {}, cwd, core, port, readyPath, nodeFlags = [] } = options;
  // Node would otherwise write a warning for each experimental feature that a target uses.
  const flags = ['--disable-warning=ExperimentalWarning', ...nodeFlags];
  const program =
    basename(script) === 'package.json'
      ? ['sh', '-c', `${startScriptOf(script)} ${flags.join(' ')}`]
      : [process.execPath, ...flags, script, ...args];
  const [command = '', ...rest] = core === undefined ? program : ['taskset', '-c', String(core), ...program];
  const child = spawn(command, rest, {
    ...(cwd && { cwd }),
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      NODE_ENV: 'production',
      NODE_COMPILE_CACHE: compileCache,
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  // Only the last 2000 characters are kept, because a target may write errors during the whole run.
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk).slice(-2000);
  });
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + 30_000;
  while (!(await isReady(`${url}${readyPath}`))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`${name} did not start: ${errors || 'it has written no error'}`);
    }
    await sleep(50);
  }
  return {
    pid: child.pid ?? 0,
    url,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await once(child, 'exit');
      clearTimeout(killTimer);
    },
  };
}

function startScriptOf(file: string): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { scripts: { start: string } }).scripts.start;
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}
