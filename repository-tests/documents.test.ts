// Checks that the files, tests, links and sections exist that the documents name, and the sections that comments cite.
// Most tests also check how many names they have found, because a pattern that finds nothing would let a test pass.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { anchorsOf, findFiles, headingsOf, read, root } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';

const exists = (path: string): boolean => existsSync(join(root, path));
const pages = findFiles('*.md', 'docs/**/*.md', '{apps,packages,bench,examples}/**/*.md');

describe('docs/security.md', () => {
  const page = read('docs/security.md');

  test('every test file that docs/security.md names exists', () => {
    const named = [...page.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, path]) => path as string);
    expect(named.length).toBeGreaterThan(50);
    // The document leaves out the folders of most tests of auth.
    const folders = ['', 'apps/auth/', 'apps/auth/test/'];
    const missing = named.filter((path) => !folders.some((folder) => exists(folder + path)));
    expect([...new Set(missing)]).toEqual([]);
  });

  test('every title that docs/security.md quotes is the beginning of the title of a describe block', () => {
    // A quotation has the form: *attacks* "TITLE" or *attacks-pages* "TITLE".
    const quoted = [...page.matchAll(/\*(attacks(?:-pages)?)\* "([^"]+)"/g)];
    expect(quoted.length).toBeGreaterThan(4);
    for (const [, file, title] of quoted)
      expect(read(`apps/auth/test/conformance/${file}.test.ts`)).toContain(`describe('${title}`);
  });
});

describe('docs/specification-map.md', () => {
  const map = read('docs/specification-map.md');
  /** The last column of each row, which names the tests and can contain `|`. Rows with headings are left out. */
  const testColumns = map
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (requirement|\*\*[^|]*\*\* \| \| \|)/.test(line))
    .map((row) => row.split('|').slice(3).join('|'));

  test('every file that the specification map names exists', () => {
    const named = [...map.matchAll(/\b(?:apps|packages|tests|infra)\/[\w./@-]*[\w]/g)].map(([path]) => path);
    expect(named.length).toBeGreaterThan(200);
    expect([...new Set(named)].filter((path) => !exists(path))).toEqual([]);
  });

  test('every row of the specification map names a test', () => {
    expect(testColumns.length).toBeGreaterThan(150);
    expect(testColumns.filter((column) => !column.includes('test'))).toEqual([]);
  });

  test('every title that the specification map quotes is in the test file that the map names before it', () => {
    const withPlainQuotes = (text: string) => text.replaceAll("\\'", "'").replaceAll('’', "'");
    const missing: string[] = [];
    let foundCount = 0;
    for (const column of testColumns) {
      let file = '';
      // Each match is the path of a test file, or a title in quotation marks or backticks.
      for (const [, path, ...quoted] of column.matchAll(
        /((?:apps|packages|tests)\/[\w./@-]*\.test\.ts)|"([^"]+)"|`([^`]+)`/g,
      )) {
        if (path) {
          file = path;
          continue;
        }
        // In a quoted title, `…` stands for words that are left out. `›` separates the title of a describe block
        // from the title of a test in it.
        for (const part of (quoted.find(Boolean) ?? '').split(/[…›]/).map((text) => text.trim())) {
          if (file && withPlainQuotes(read(file)).includes(withPlainQuotes(part))) foundCount += 1;
          else missing.push(`${file}: ${part}`);
        }
      }
    }
    expect(missing).toEqual([]);
    expect(foundCount).toBeGreaterThan(250);
  });
});

test.each(pages)('every relative link of %s leads to an existing file and section', (page) => {
  // A link has the form: [TEXT](PATH#ANCHOR). The path or the anchor can be missing.
  const links = [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  const broken = links.filter(([, path, anchor]) => {
    const target = path ? join(dirname(page), path) : page;
    return !exists(target) || (anchor && target.endsWith('.md') && !anchorsOf(read(target)).includes(anchor));
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

describe('citations', () => {
  const sources = findFiles(
    '{apps,packages,tests,bench,infra,.github}/**/*.{ts,js,eta,css,yml,yaml,sh}',
    '*.yml',
    '*.yaml',
  );
  /** The texts that may contain citations, in the form: docs/FILE.md, "TITLE", or: specification, "TITLE". */
  const texts = [...sources, ...pages].map((file) => ({ file, text: joinLines(read(file)) }));

  /** Removes line breaks and comment marks, so that a citation that continues on the next line is found. */
  function joinLines(text: string): string {
    return text.replace(/\n\s*(?:\/\/|\*|#)?[ \t]*/g, ' ');
  }

  test('every cited section of a document exists', () => {
    const missing = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/\b(docs\/[\w/-]+\.md), "([^"]+)"/g)]
        .filter(
          ([, page, title]) => !exists(page as string) || !headingsOf(read(page as string)).includes(title as string),
        )
        .map(([citation]) => `${file}: ${citation}`),
    );
    expect(missing).toEqual([]);
  });

  test('every cited section of the specification exists', () => {
    const missing = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/\b[Ss]pecification, "([^"]+)"/g)]
        .filter(([, title]) => !sectionsOfSpecification.has(title as string))
        .map(([citation]) => `${file}: ${citation}`),
    );
    expect(missing).toEqual([]);
  });
});

/** The titles of all sections of the specification, which is not in this repository. */
const sectionsOfSpecification: ReadonlySet<string> = new Set([
  'What the service does',
  'Resources and their fields',
  'Booking',
  'Booking location',
  'Booking bay',
  'Link object',
  'List envelope',
  'Error envelope',
  'Token response',
  'States and transitions',
  'Endpoints',
  'POST /api/bookings',
  'PUT /api/bookings/{id}',
  'DELETE /api/bookings/{id}',
  'GET /api/bookings/{id}',
  'GET /api/bookings (list and search)',
  'GET /api/booking-locations',
  'GET /api/booking-locations/{id}',
  'GET /api/booking-bays',
  'GET /api/bays/{id}/upcoming-bookings',
  'Authentication',
  'Tokens',
  'Scopes',
  'Authorization code flow',
  'Implicit flow',
  'Client credentials flow',
  'Resource owner password flow',
  'Refresh',
  'Social identity provider login',
  'Native social token exchange',
  'Bookings API access',
  'Events',
  'Errors',
  'Limits',
  'Versioning',
]);
