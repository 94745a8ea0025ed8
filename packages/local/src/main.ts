// Runs `npm start`: embedded PostgreSQL, both services as child processes, the demo and the printed summary.
import { readSettings } from './settings.ts';
import { watchForStop } from './stopping.ts';
import { summary } from './summary.ts';
import { type StartedParts, startSystem } from './system.ts';

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
