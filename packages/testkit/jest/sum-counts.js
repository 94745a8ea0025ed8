// Prints the sum of the tests of all workspaces as `N passed, N failed`. Exits with code 1 if a test has failed, or if
// no test has run.
import { globSync, readFileSync } from 'node:fs';

const sum = { passed: 0, failed: 0, skipped: 0 };
for (const file of globSync('{apps/*,packages/*,tests,repository-tests,bench}/.jest/counts.json')) {
  const counts = JSON.parse(readFileSync(file, 'utf8'));
  for (const key in sum) sum[key] += counts[key];
}
process.stdout.write(`${sum.passed} passed, ${sum.failed} failed${sum.skipped ? `, ${sum.skipped} skipped` : ''}\n`);
process.exitCode = sum.failed > 0 || sum.passed === 0 ? 1 : 0;
