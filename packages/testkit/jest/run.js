// Runs jest for the script `test` of a workspace, with file patterns that match only the part of a path below the
// workspace. Jest itself also compares a pattern with the absolute path, so a pattern such as `bookings` would select
// every file of a checkout in `/home/me/bookings`.
//
// With RERUN_FAILED=true, up to three failed files run once more, one by one. A test that passes then is reported as
// unstable, and does not fail the run.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildArgv, runCLI } from 'jest';

process.env.NODE_ENV ??= 'test';
// The tests start the services many times. Node keeps compiled modules here, as `npm start` does.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../../node_modules/.cache/compile', import.meta.url));
const args = process.argv.slice(2);
// Jest distinguishes patterns from values of options, such as NAME in `-t NAME`.
const patterns = (await buildArgv(args))._.map(String);
const isUnanchored = (argument) => patterns.includes(argument) && !/^\.?\//.test(argument);
const options = args.map((argument) => (isUnanchored(argument) ? `^(?!/).*(?:${argument})` : argument));

// The global setup of jest changes process.env.
const environment = { ...process.env };
const { results } = await runCLI(await buildArgv(options), [process.cwd()]);
process.exitCode = results.success ? 0 : 1;
const failed = results.testResults.filter((file) => file.testExecError || file.numFailingTests > 0);
if (environment.RERUN_FAILED === 'true' && failed.length > 0 && failed.length <= 3) {
  const files = failed.map(({ testFilePath }) => testFilePath);
  const command = [...process.execArgv, import.meta.filename, '--runInBand', '--runTestsByPath', ...files];
  const env = { ...environment, RERUN_FAILED: 'second' };
  process.exitCode = spawnSync(process.execPath, command, { env, stdio: 'inherit' }).status ?? 1;
}
