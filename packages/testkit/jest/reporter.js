// Writes the numbers of passed, failed and skipped tests to the file .jest/counts.json of the workspace. sum-counts.js
// adds up the counts of all workspaces.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export default class CountsReporter {
  onRunComplete(contexts, results) {
    const [context] = contexts;
    if (!context) return;
    const folder = join(context.config.rootDir, '.jest');
    mkdirSync(folder, { recursive: true });
    const { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites } = results;
    // A test file that cannot run at all, for example because an import fails, counts as one failed test.
    const counts = {
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      skipped: numPendingTests,
    };
    writeFileSync(join(folder, 'counts.json'), JSON.stringify(counts));
  }
}
