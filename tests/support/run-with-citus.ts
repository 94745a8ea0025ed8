// Starts a Citus cluster, and runs a command with the address of the cluster in TEST_DATABASE_URL. Without a command,
// the cluster runs until Ctrl-C. Usage: `npm run citus -w tests -- npm test -w apps/bookings`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findCitus } from '@bay-booking/testkit/programs';
import { startCitusCluster } from './citus-cluster.ts';

const programs = findCitus();
if (!programs) {
  process.stderr.write(
    'no PostgreSQL of this machine has the extension Citus: docs/operations/scale.md says how to build it\n',
  );
  process.exit(1);
}
const cluster = await startCitusCluster(programs);
process.stdout.write(`TEST_DATABASE_URL=${cluster.url}\n`);
const [command, ...args] = process.argv.slice(2);
// Without a handler, these signals would end this process before the cluster is stopped.
const interrupted = Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name)));
if (command) {
  const child = spawn(command, args, {
    stdio: 'inherit',
    // npm starts this script in the folder tests/. The command must run in the folder in which the user called npm.
    cwd: process.env.INIT_CWD ?? process.cwd(),
    env: { ...process.env, TEST_DATABASE_URL: cluster.url },
  });
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  process.exitCode = exitCode ?? 1;
} else await interrupted;
await cluster.stop();
process.exit();
