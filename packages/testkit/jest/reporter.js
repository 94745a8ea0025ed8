// Leaves each workspace's counts in .jest/<workspace>.json, where .ci/run adds them up.
import { mkdirSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

export default class CountsReporter {
  onRunComplete(contexts, results) {
    const [context] = contexts;
    if (!context) return;
    const workspace = relative(root, context.config.rootDir).replaceAll('/', '-');
    mkdirSync(resolve(root, '.jest'), { recursive: true });
    const { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites } = results;
    writeFileSync(
      resolve(root, '.jest', `${workspace}.json`),
      JSON.stringify({
        passed: numPassedTests,
        failed: numFailedTests + numRuntimeErrorTestSuites,
        skipped: numPendingTests,
      }),
    );
  }
}
