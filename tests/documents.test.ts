// Do the documents name what is there? Every file and every title that docs/specification-map.md names, and every relative link of the documents.
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

/** The column of tests of each row. */
const proofs = read('docs/specification-map.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (sentence|\*\*[^|]*\*\* \| \| \|)/.test(line))
  .map((row) => row.split('|').slice(3).join('|'));

test('every row of the specification map names a test', () => {
  expect(proofs.length).toBeGreaterThan(150);
  expect(proofs.filter((proof) => !/test/.test(proof))).toEqual([]);
});

test('every title that the specification map quotes stands in the file that it names before', () => {
  const plain = (text: string) => text.replaceAll("\\'", "'").replaceAll('’', "'");
  const missing: string[] = [];
  let found = 0;
  for (const proof of proofs) {
    let file = '';
    for (const [, path, ...quoted] of proof.matchAll(
      /((?:apps|packages|tests)\/[\w./@-]*\.test\.ts)|"([^"]+)"|`([^`]+)`/g,
    )) {
      if (path) {
        file = path;
        continue;
      }
      // … stands for what is left out, › for what one describe holds.
      for (const part of (quoted.find(Boolean) ?? '').split(/[…›]/).map((text) => text.trim())) {
        if (file && plain(read(file)).includes(plain(part))) found += 1;
        else missing.push(`${file}: ${part}`);
      }
    }
  }
  expect(missing).toEqual([]);
  expect(found).toBeGreaterThan(250);
});

test.each(
  globSync(['*.md', 'docs/**/*.md', '{apps,packages}/*/*.md'], { cwd: root }).filter(
    (file) => !file.includes('node_modules'),
  ),
)('every relative link of %s leads somewhere', (file) => {
  const targets = [...read(file).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map((match) => match[1] as string);
  expect(targets.filter((target) => !existsSync(join(root, dirname(file), target)))).toEqual([]);
});
