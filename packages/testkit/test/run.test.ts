// Tests which test files the script `test` of a workspace selects.
import { execFileSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');
/** Returns the names of the test files that jest selects in packages/common. */
const select = (...args: readonly string[]) =>
  execFileSync('npm', ['test', '--silent', '-w', 'packages/common', '--', '--listTests', ...args], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '' },
    encoding: 'utf8',
  })
    .split('\n')
    .filter(Boolean)
    .map((file) => basename(file));

test.each([
  ['the path of the checkout selects no file', [`${root.slice(1)}/packages`], []],
  [
    'patterns select files, and the value of an option does not',
    ['validation', 'src/page', '-t', 'query'],
    ['page', 'validation'],
  ],
  ['a path from the workspace selects a file', ['./src/page.test.ts'], ['page']],
  ['an absolute path selects a file', [`${root}/packages/common/src/page.test.ts`], ['page']],
])('%s', (_title, args, names) => {
  expect(select(...args).toSorted()).toEqual(names.map((name) => `${name}.test.ts`).toSorted());
});
