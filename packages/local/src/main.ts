// Runs `npm start`: embedded PostgreSQL, both services as child processes, the demo and the printed summary.
import { readSettings } from './settings.ts';
import { summary } from './summary.ts';
import { startSystem } from './system.ts';

const parentCheckMs = 500;
const startedAt = performance.now();
const print = (line: string) => process.stdout.write(`${line}\n`);
// Writing fails after the terminal has closed, but this process must still stop the services.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const stopping = new AbortController();
const { signal } = stopping;
// Under npm, one Ctrl-C sends two signals: one from the terminal and one from npm.
const requestStop = (reason: string): void => {
  if (signal.aborted) return;
  print(`stopping (${reason})`);
  stopping.abort(new Error(reason));
};
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => requestStop(name));
if (process.env.npm_lifecycle_event !== undefined) {
  // If npm ends without a signal, this process gets another parent process and must stop too.
  const npm = process.ppid;
  const stopWithNpm = () => {
    if (process.ppid !== npm) requestStop('npm has ended');
  };
  setInterval(stopWithNpm, parentCheckMs).unref();
}
const stopRequested = new Promise<undefined>((resolve) => {
  signal.addEventListener('abort', () => resolve(undefined));
});

const parts = new AsyncDisposableStack();
let exitCode = 0;
const reportError = (error: unknown) => {
  process.stderr.write(`${Error.isError(error) ? error.message : String(error)}\n`);
  exitCode = 1;
};
try {
  const settings = readSettings(process.env, process.argv.slice(2));
  const system = await startSystem({ settings, env: process.env, print, signal, parts });
  print(summary(settings, system.databases, (performance.now() - startedAt) / 1000, system));
  const failure = await Promise.race([stopRequested, system.failed]);
  if (failure) throw new Error(failure);
} catch (error) {
  // A requested stop aborts the start. That is not an error.
  if (!signal.aborted) reportError(error);
}

await parts.disposeAsync().catch(reportError);
process.exit(exitCode);
