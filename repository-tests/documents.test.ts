// Checks that the files, links and sections exist that documents and comments name.
// Some tests also check how many names they found, because a pattern that finds nothing would let a test pass.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { anchorsOf, findFiles, headingsOf, read, root, shellBlocks } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';

const exists = (path: string): boolean => existsSync(join(root, path));
const pages = findFiles('*.md', 'docs/**/*.md', '{apps,packages,bench,examples}/**/*.md');

test('every test file that docs/security.md names exists', () => {
  const named = [...read('docs/security.md').matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, path]) => path as string);
  expect(named.length).toBeGreaterThan(50);
  // The document leaves out the folder of the tests of auth.
  const missing = named.filter((path) => !exists(path) && !exists(`apps/auth/test/${path}`));
  expect([...new Set(missing)]).toEqual([]);
});

test('no document contains the markers of a merge conflict', () => {
  expect(pages.filter((page) => /^(<{7} |>{7} |\|{7} |={7}$)/m.test(read(page)))).toEqual([]);
});

test.each(['apps/bookings', 'apps/auth'])(
  'every row of %s in docs/specification-map.md names code and a test',
  (app) => {
    const [, section = ''] = read('docs/specification-map.md').split(`\n## ${app}\n`);
    const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^- .* \((.*); (.*)\)$/gm)];
    expect(rows.length).toBeGreaterThan(50);
    const filesOf = (cell: string | undefined, folder: string) =>
      (cell ?? '').split(', ').map((path) => (exists(path) ? path : `${app}/${folder}/${path}`));
    const named = rows.flatMap(([, code, tests]) => [...filesOf(code, 'src'), ...filesOf(tests, 'test')]);
    expect([...new Set(named)].filter((path) => !exists(path))).toEqual([]);
    expect(rows.filter(([, , tests]) => !tests?.endsWith('.test.ts')).map(([row]) => row)).toEqual([]);
  },
);

describe('file names', () => {
  const files = findFiles('**/*.*', '.github/**/*.*', '.ci/*');
  const name =
    /(?<![\w/.:@{*…-])(?:\.\.?\/)*((?:[\w.-]+\/)*[\w-][\w.-]*\.(?:[cm]?[jt]s|md|sql|ya?ml|json|eta|css|sh))(?![\w(/=-])/g;
  /** Products, and files that users create. Capitals stand for any name. */
  const isOther = (path: string): boolean =>
    /^((docs\/)?[A-Z]+[./]|(Node|Immutable)\.js$|\.(data|jest)\/|social-providers\.json$|screen-bay-n1-01\.json$)/.test(
      path,
    ) || ['index.ts', '0001_name.sql'].includes(path);
  const exists = (path: string): boolean => files.some((file) => `/${file}`.endsWith(`/${path}`));
  const namesOf = (text: string): readonly string[] =>
    [...text.matchAll(name)].map(([, path]) => path as string).filter((path) => exists(path) || !isOther(path));

  test.each([
    // Code blocks create files.
    ['documents', pages, (text: string) => text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '')],
    [
      'comments',
      findFiles('{apps,packages,tests,repository-tests,bench,infra}/**/*.{ts,js,css,sh}', '.github/**/*.yml', '*.yml'),
      (text: string) => [...text.matchAll(/^\s*(?:\/\/|\/?\*|#).*$/gm)].join('\n'),
    ],
  ])('every file that %s name exists', (_, sources, textOf) => {
    const named = sources.flatMap((file) => namesOf(textOf(read(file))).map((path) => ({ file, path })));
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ path }) => !exists(path))).toEqual([]);
  });

  test('every test that docs/how-to-add.md names without an ending exists', () => {
    const lists = [...read('docs/how-to-add.md').matchAll(/\nTests: ([\s\S]*?)\n\n/g)].join(' ');
    const named = [...lists.matchAll(/`((?:browser\/)?[a-z-]+)`/g)].map(([, path]) => path as string);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((path) => !exists(`${path}.test.ts`))).toEqual([]);
  });
});

test('every npm script and option, and every file, that a command names exists', () => {
  const scriptsOf = (workspace: string): Record<string, string> =>
    exists(workspace) ? JSON.parse(read(`${workspace}/package.json`)).scripts : {};
  const programs = findFiles('{apps,bench,packages}/*/{,src/**/}*.ts').map(read).join('\n');
  const npm = /\bnpm (?:run )?(?:--silent )?([\w:-]+)(?: -w ([\w./-]*\w))?(?: --(?= )([^\n`|)#]*))?/g;
  const notScripts = ['ci', 'install', 'audit', 'pack'];
  const commands = pages.flatMap((page) => {
    const inSentences = (read(page).match(/`npm [^`]*`/g) ?? []).map((command) => command.replaceAll('\n', ' '));
    return [...[...shellBlocks(read(page)), ...inSentences].join('\n').matchAll(npm)].map(
      ([command, script = '', workspace = '.', options = '']) => ({
        page,
        command,
        script,
        workspace,
        options: options.match(/(?<= )--[a-z][\w-]*/g) ?? [],
      }),
    );
  });
  expect(commands.length).toBeGreaterThan(60);
  const unknown = commands.filter(
    ({ script, workspace, options }) =>
      !(notScripts.includes(script) || scriptsOf(workspace)[script]) ||
      options.some((option) => !programs.includes(`'${option}`) && !programs.includes(` ${option.slice(2)}: { type:`)),
  );
  expect(unknown).toEqual([]);
  const files = pages.flatMap((page) =>
    shellBlocks(read(page)).flatMap(
      (block) => block.match(/(?<![\w./])(?:apps|examples|infra|packages)\/[\w./@-]+/g) ?? [],
    ),
  );
  expect(files.filter((path) => !exists(path))).toEqual([]);
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
  /** The texts without line breaks and comment marks, because a citation may continue on the next line. */
  const texts = [...sources, ...pages].map((file) => ({
    file,
    text: read(file).replace(/\n\s*(?:\/\/|\*|#)?[ \t]*/g, ' '),
  }));

  const citationsOf = (pattern: RegExp) =>
    texts.flatMap(({ file, text }) => [...text.matchAll(pattern)].map(([, ...captured]) => ({ file, captured })));

  test('every cited page and section of a document exists', () => {
    // A citation has the form: docs/FILE.md, or: docs/FILE.md, "TITLE".
    const found = citationsOf(/\b(docs\/[\w/-]+\.md)(?:, "([^"]+)")?/g);
    expect(found.length).toBeGreaterThan(50);
    const missing = found.filter(
      ({ captured: [page = '', title] }) => !exists(page) || (title && !headingsOf(read(page)).includes(title)),
    );
    expect(missing).toEqual([]);
  });
});
