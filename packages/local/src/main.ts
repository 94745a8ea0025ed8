// Runs `npm start`: the embedded PostgreSQL, both services as child processes, the demo and the printed summary.
import { readSettings } from './settings.ts';
import { watchForStop } from './stopping.ts';
import { summary } from './summary.ts';
import { type Stops, startSystem } from './system.ts';

const startedAt = performance.now();
const print = (line: string) => process.stdout.write(`${line}\n`);
// Writing fails after the terminal has closed. The launcher must ignore this error, so that it still stops the
// services.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const stops: Stops = { steps: [], services: [] };
const stopping = watchForStop({
  isUnderNpm: process.env.npm_lifecycle_event !== undefined,
  onStop: (reason) => print(`stopping (${reason})`),
  onSecondSignal: () => {
    for (const service of stops.services) service.kill();
  },
});
const stopRequested = new Promise<undefined>((resolve) => {
  stopping.signal.addEventListener('abort', () => resolve(undefined));
});

let exitCode = 0;
try {
  const settings = readSettings(process.env, process.argv.slice(2));
  const system = await startSystem({ settings, env: process.env, print, signal: stopping.signal }, stops);
  print(summary(settings, system.databases, (performance.now() - startedAt) / 1000));
  const broken = await Promise.race([stopRequested, system.broken]);
  if (broken) throw new Error(broken);
} catch (error) {
  if (!stopping.signal.aborted) {
    process.stderr.write(`${Error.isError(error) ? error.message : String(error)}\n`);
    exitCode = 1;
  }
}

await Promise.all(stops.services.map((service) => service.stop()));
for (const step of stops.steps.reverse()) {
  await step().catch((error: unknown) => {
    process.stderr.write(`${Error.isError(error) ? error.message : String(error)}\n`);
    exitCode = 1;
  });
}
process.exit(exitCode);
