// Prints the failed tests of all workspaces and the sum of their tests: `N passed, N failed`. An argument, `fast` or
// `slow`, selects a group, and also prints its slowest files. Exits with code 1 if a test has failed or none has run.
import { globSync, readFileSync } from 'node:fs';

const group = process.argv[2];
const summaries = globSync(`{apps/*,packages/*,tests,repository-tests,bench}/.jest/${group ?? '{fast,slow}'}.json`).map(
  (file) => JSON.parse(readFileSync(file, 'utf8')),
);
const sum = (key) => summaries.reduce((total, summary) => total + summary[key], 0);
const list = (key, label) =>
  summaries.flatMap((summary) => summary[key].map((test) => `${label}: ${test}`)).slice(0, 40);
const lines = [...list('unstable', 'unstable, passed alone'), ...list('failures', 'failed')];
if (group) {
  const slowest = summaries.flatMap(({ files }) => files).toSorted(([, a], [, b]) => b - a);
  for (const [file, seconds] of slowest.slice(0, 3)) lines.push(`slowest: ${file}, ${seconds.toFixed(0)} s`);
}
const skipped = sum('skipped') ? `, ${sum('skipped')} skipped` : '';
lines.push(`${sum('passed')} passed, ${sum('failed')} failed${skipped}`);
process.stdout.write(`${lines.join('\n')}\n`);
process.exitCode = sum('failed') > 0 || sum('passed') === 0 ? 1 : 0;
