// Prints what the results of tests depend on outside the repository. `npm test` passes the line to turbo as TEST_MACHINE, so that turbo
// never reuses the results of a machine with another Node.js or with other programs.
import { statSync } from 'node:fs';
import { findChromium, findCitus, findPgBouncer, findPsql } from './programs.ts';

const programs = [findChromium(), findPgBouncer(), findPsql(), findCitus()].filter((path) => path !== undefined);
const parts = [
  process.platform,
  process.arch,
  process.version,
  ...programs.map((path) => `${path}@${statSync(path).mtimeMs}`),
  // Nothing in the repository describes a database server of the developer's own: its results are not reused at all.
  ...(process.env.TEST_DATABASE_URL ? [`own server ${Date.now()}`] : []),
];
process.stdout.write(`${parts.join(' ')}\n`);
