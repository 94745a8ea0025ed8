// Runs `npm start`: embedded PostgreSQL, both services as child processes, the demo and the printed summary.
import { readSettings } from './settings.ts';
import { summary } from './summary.ts';
import { type StartedParts, startSystem } from './system.ts';

const PARENT_CHECK_MS = 500;
/** Under npm, one Ctrl-C sends two signals: one from the terminal and one from npm. */
const SAME_KEYPRESS_MS = 1_000;
const startedAt = performance.now();
const print = (line: string) => process.stdout.write(`${line}\n`);
// Writing fails after the terminal has closed, but this process must still stop the services.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const parts: StartedParts = { services: [], stopFunctions: [] };
const signal = watchForStop({
  // npm sets this variable. If npm ends without a signal, this process must stop too.
  isUnderNpm: process.env.npm_lifecycle_event !== undefined,
  onStop: (reason) => print(`stopping (${reason})`),
  onSecondSignal: () => {
    for (const service of parts.services) service.kill();
  },
});
const stopRequested = new Promise<undefined>((resolve) => {
  signal.addEventListener('abort', () => resolve(undefined));
});

let exitCode = 0;
const reportError = (error: unknown) => {
  process.stderr.write(`${Error.isError(error) ? error.message : String(error)}\n`);
  exitCode = 1;
};
try {
  const settings = readSettings(process.env, process.argv.slice(2));
  const system = await startSystem({ settings, env: process.env, print, signal }, parts);
  print(summary(settings, system.databases, (performance.now() - startedAt) / 1000, system));
  const failure = await Promise.race([stopRequested, system.failed]);
  if (failure) throw new Error(failure);
} catch (error) {
  // A requested stop aborts the start. That is not an error.
  if (!signal.aborted) reportError(error);
}

await Promise.all(parts.services.map((service) => service.stop()));
for (const stop of parts.stopFunctions.reverse()) await stop().catch(reportError);
process.exit(exitCode);

/**
 * Returns a signal that aborts when the system must stop. Calls `onStop` with the reason. Calls `onSecondSignal` for
 * each signal that arrives more than a second later.
 */
function watchForStop(options: {
  isUnderNpm: boolean;
  onStop: (reason: string) => void;
  onSecondSignal: () => void;
}): AbortSignal {
  const controller = new AbortController();
  let stoppedAt = 0;
  const requestStop = (reason: string) => {
    if (!controller.signal.aborted) {
      stoppedAt = Date.now();
      options.onStop(reason);
      controller.abort(new Error(reason));
    } else if (Date.now() - stoppedAt > SAME_KEYPRESS_MS) options.onSecondSignal();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => requestStop(name));
  if (options.isUnderNpm) {
    // When npm ends, the launcher gets another parent process.
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      if (!controller.signal.aborted) requestStop('npm has ended');
    }, PARENT_CHECK_MS);
    timer.unref();
  }
  return controller.signal;
}
