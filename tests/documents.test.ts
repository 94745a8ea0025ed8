// Do the documents name what is there? Every file that docs/specification-map.md names, and every relative link of the documents.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

test('every file that the specification map names exists', () => {
  const named = [...read('docs/specification-map.md').matchAll(/\b(?:apps|packages|tests|infra)\/[\w./@-]*[\w]/g)].map(
    ([path]) => path,
  );
  expect(named.length).toBeGreaterThan(200);
  expect([...new Set(named)].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('every row of the specification map names a test', () => {
  const rows = read('docs/specification-map.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (sentence|\*\*[^|]*\*\* \| \| \|)/.test(line));
  expect(rows.length).toBeGreaterThan(150);
  expect(rows.filter((row) => !/test/.test(row.split('|').slice(3).join('|')))).toEqual([]);
});

test.each(
  globSync(['*.md', 'docs/**/*.md', '{apps,packages}/*/*.md'], { cwd: root }).filter(
    (file) => !file.includes('node_modules'),
  ),
)('every relative link of %s leads somewhere', (file) => {
  const targets = [...read(file).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map((match) => match[1] as string);
  expect(targets.filter((target) => !existsSync(join(root, dirname(file), target)))).toEqual([]);
});
