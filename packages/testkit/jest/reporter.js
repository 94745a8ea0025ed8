// Writes the numbers of passed, failed and skipped tests, the titles of the failed tests and the seconds of each file
// to the folder .jest of the workspace. summary.js adds up these files. A second run of failed files (run.js) only
// changes what the first run wrote about failures.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export default class SummaryReporter {
  onRunComplete(contexts, results) {
    const [context] = contexts;
    if (!context) return;
    const { rootDir } = context.config;
    const nameOf = ({ testFilePath }) => relative(join(import.meta.dirname, '../../..'), testFilePath);
    // A file that cannot run at all, for example because an import fails, counts as one failed test.
    const failures = results.testResults.flatMap((file) =>
      file.testExecError
        ? [nameOf(file)]
        : file.testResults
            .filter(({ status }) => status === 'failed')
            .map(({ fullName }) => `${nameOf(file)}: ${fullName}`),
    );
    const summary = {
      passed: results.numPassedTests,
      failed: failures.length,
      skipped: results.numPendingTests,
      failures,
      unstable: [],
      files: results.testResults.map((file) => [nameOf(file), (file.perfStats.end - file.perfStats.start) / 1000]),
    };
    const file = join(rootDir, '.jest', `${process.env.TEST_GROUPS ?? 'fast'}.json`);
    mkdirSync(join(rootDir, '.jest'), { recursive: true });
    const isSecond = process.env.RERUN_FAILED === 'second';
    writeFileSync(file, JSON.stringify(isSecond ? merge(JSON.parse(readFileSync(file, 'utf8')), summary) : summary));
  }
}

function merge(first, second) {
  const unstable = first.failures.filter((failure) => !second.failures.includes(failure));
  const failed = second.failures.length;
  return { ...first, passed: first.passed + first.failed - failed, failed, failures: second.failures, unstable };
}
