// Runs jest for the script `test` of a workspace, with file patterns that match only the part of a path below the
// workspace. Jest itself also compares a pattern with the absolute path, so a pattern such as `bookings` would select
// every file of a checkout in `/home/me/bookings`.
import { fileURLToPath } from 'node:url';
import { buildArgv, run } from 'jest';

process.env.NODE_ENV ??= 'test';
// The tests start the services many times. Node keeps compiled modules here, as `npm start` does.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../../node_modules/.cache/compile', import.meta.url));
const args = process.argv.slice(2);
// Jest distinguishes patterns from values of options, such as NAME in `-t NAME`.
const patterns = (await buildArgv(args))._.map(String);
const isUnanchored = (argument) => patterns.includes(argument) && !/^\.?\//.test(argument);
await run(args.map((argument) => (isUnanchored(argument) ? `^(?!/).*(?:${argument})` : argument)));
