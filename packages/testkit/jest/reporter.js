// Writes the numbers of passed, failed and skipped tests, the titles of the failed tests and the seconds of each file
// to the folder .jest of the workspace. summary.js adds up these files.
import { mkdirSync, writeFileSync } from 'node:fs';
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
      files: results.testResults.map((file) => [nameOf(file), (file.perfStats.end - file.perfStats.start) / 1000]),
    };
    mkdirSync(join(rootDir, '.jest'), { recursive: true });
    writeFileSync(join(rootDir, '.jest', `${process.env.TEST_GROUPS ?? 'fast'}.json`), JSON.stringify(summary));
  }
}
