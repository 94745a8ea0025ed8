// Prints one line that describes everything outside the repository on which test results depend: the platform, Node.js,
// the installed programs, and an external database server. `npm test` passes this line to turbo as TEST_MACHINE. turbo
// then does not reuse the results of another environment.
import { statSync } from 'node:fs';
import { findChromium, findCitus, findNode, findPgBouncer, findPgDump, findPsql } from './programs.ts';

// The tests of packages/client also run with Node.js 20.
const programs = [findChromium(), findNode(20), findPgBouncer(), findPgDump(), findPsql(), findCitus()].filter(
  (path) => path !== undefined,
);
const parts = [
  process.platform,
  process.arch,
  process.version,
  // If a program is updated, its modification time changes, and so does the printed line.
  ...programs.map((path) => `${path}@${statSync(path).mtimeMs}`),
  // The state of an external database server is unknown, so each run prints another line. turbo then reuses no result.
  ...(process.env.TEST_DATABASE_URL ? [`external server ${Date.now()}`] : []),
];
process.stdout.write(`${parts.join(' ')}\n`);
