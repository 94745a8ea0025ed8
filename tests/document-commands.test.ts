// Runs the shell commands of all documents, except those in a list, against the system that `npm start` starts. Checks
// the syntax of the others. Also tests the summary that `npm start` prints, the paths to which the README links, and
// the stand-in providers.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { codeBlocks, findFiles, read, root, shellBlocks } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';
import { useSystem } from './support/npm-start.ts';

const run = promisify(execFile);
const pages = findFiles('*.md', 'docs/**/*.md', '{apps,packages,examples,bench}/**/*.md');

/** The blocks of each page that do not run here, by the words with which they begin, and why. */
const otherBlocks: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'README.md': { 'npm ci && npm start': 'replaces node_modules', 'npm ci && npm test': 'replaces node_modules' },
  'apps/bookings/src/openapi/introduction.md': {
    'curl -sS http://localhost:4000': 'has the id and the secret of no client',
    'curl -sS http://localhost:4001': 'has the token of no client',
  },
  'docs/conformance.md': { 'npm run test:all': 'takes minutes' },
  'docs/operations/back-up.md': {
    pg_basebackup: 'needs the archive of a server',
    'cp -a /backup': 'needs the archive of a server',
    'pg_dump ': 'operations.test.ts runs it',
    pg_restore: 'operations.test.ts runs it',
    'jq ': 'needs jq and a log',
  },
  'docs/operations/configure.md': {
    'NEW=$(openssl': 'operations.test.ts runs it',
    'psql ': 'operations.test.ts runs it',
    'npm audit': 'needs the npm registry and Docker',
  },
  'docs/operations/install.md': {
    'export PGHOST': 'operations.test.ts runs it',
    AUTH_OWNER_PASSWORD: 'operations.test.ts runs it',
    'npm ci ': 'replaces node_modules; operations.test.ts runs the rest',
    'umask 077': 'operations.test.ts runs it',
    'cat > bookings.json': 'operations.test.ts runs it',
    'export NODE_ENV': 'operations.test.ts runs it',
    'TOKEN=$(echo': 'operations.test.ts runs it',
    useradd: 'needs systemd',
    'sed ': 'needs systemd',
    'kubectl ': 'needs a Kubernetes cluster',
  },
  'docs/operations/observe.md': { 'jq ': 'needs jq and a log', 'docker ': 'needs Docker' },
  'docs/operations/personal-data.md': { 'jq -r': 'needs jq and a log', 'jq -c': 'needs jq and a log' },
  'docs/operations/scale.md': { 'psql ': 'operations.test.ts runs it' },
  'docs/performance.md': { 'git worktree': 'takes 20 minutes' },
  'examples/partner/README.md': {
    'npm start': 'runs until it is stopped; client/examples.test.ts runs it',
    'SHOP=': 'needs the running example; client/examples.test.ts runs it',
  },
  'examples/screen/README.md': { 'npm start': 'runs until it is stopped; client/examples.test.ts runs it' },
  'packages/client/README.md': {
    'npm pack': 'writes into the repository; client/package.test.ts runs it',
    'npm install': 'needs the npm registry; client/package.test.ts installs the package offline',
  },
};
const runsHere = (page: string) => (block: string) =>
  !Object.keys(otherBlocks[page] ?? {}).some((start) => block.startsWith(start));

const system = useSystem({ MANAGEMENT: 'on' });

/** Replaces ports and the folder `.data` of the documents with those of the system of this test. */
const withTestSystem = (text: string) =>
  text
    .replaceAll('http://localhost:4000', system.auth)
    .replaceAll('http://localhost:4001', system.bookings)
    .replaceAll(/(\$PWD\/)?\.data\//g, `${system.dataDir}/`);

/**
 * Runs all blocks of a page that can run here in one shell session. Returns the output of each block.
 * @throws {Error} with the output if a command fails
 */
async function runBlocks(page: string): Promise<readonly string[]> {
  const script = shellBlocks(read(page)).filter(runsHere(page)).join('\necho; echo ------\n');
  const { stdout } = await run('sh', ['-e', '-c', withTestSystem(script)], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '', AUTH_URL: system.auth, BOOKINGS_URL: system.bookings },
    timeout: 60_000,
  });
  return stdout.split('------\n');
}

/** Patterns of the outputs of the blocks of each other page. */
const expectedOutputs: Readonly<Record<string, readonly RegExp[]>> = {
  'apps/auth/README.md': [/ES256 {2}current/],
  'docs/import.md': [
    /imported 2 facilities, \d+ accounts, \d+ clients[\s\S]*imported 2 facilities, 3 locations, 21 bays/,
  ],
  'docs/sign-in.md': [
    /^\{"facilities":\[\],.*"sub":"acc-player",.*"scope":"https:\/\/bay-booking.example\/golf\/bookings"/,
    /^\{"access_token":.*"scope":"offline_access https:\/\/bay-booking.example\/dr\/play","refresh_token":/,
    /^\{"active":true,.*"sub":"acc-[^"]+",.*"client_id":"demo-native",.*"acr":"idp:google"\}/,
  ],
  'examples/onboarding/README.md': [
    /imported 0 facilities, 0 accounts, 1 clients/,
    /^fac-west has 2 locations .*invited/m,
  ],
};

test.each(Object.entries(expectedOutputs))('the commands of %s work', async (page, patterns) => {
  expect(await runBlocks(page)).toEqual(patterns.map((pattern) => expect.stringMatching(pattern)));
});

describe('the code blocks of all documents', () => {
  test('each names its language', () => {
    const languages = pages.flatMap((page) => codeBlocks(read(page)).map(({ language }) => language));
    const known = new Set(['sh', 'js', 'ts', 'json', 'sql', 'ini', 'mermaid']);
    expect(languages.filter((language) => !known.has(language))).toEqual([]);
    // Code blocks are recognised by lines that begin with three backticks.
    const fences = pages.flatMap((page) => read(page).match(/^ *```/gm) ?? []);
    expect(fences).toHaveLength(2 * languages.length);
  });

  test('every shell block runs here or is in the list, and the list has no other entry', () => {
    const withCommands = pages.filter((page) => shellBlocks(read(page)).some(runsHere(page)));
    expect(withCommands).toEqual(['README.md', 'docs/api.md', ...Object.keys(expectedOutputs)].toSorted());
    const unused = Object.entries(otherBlocks).flatMap(([page, starts]) =>
      Object.keys(starts).filter(
        (start) => shellBlocks(read(page)).filter((block) => block.startsWith(start)).length !== 1,
      ),
    );
    expect(unused).toEqual([]);
  });

  test.each(Object.keys(otherBlocks))('the shell accepts the blocks of %s that do not run here', async (page) => {
    for (const block of shellBlocks(read(page))) await run('bash', ['-n', '-c', block]);
  });
});

test('the commands of the README book a bay, get an error for a double booking, move the booking and delete it', async () => {
  const [token = '', bays, created, rejected, moved] = await runBlocks('README.md');
  // The first block stores the token in a shell variable and prints nothing.
  expect(token.trim()).toBe('');
  expect(bays).toContain('"loc-north-1"');
  expect(bays).toContain('"bay-n1-01"');
  expect(created).toMatch(/^HTTP\/1\.1 201 Created/);
  expect(created).toMatch(new RegExp(`^Location: ${system.bookings}/api/bookings/[0-9a-f-]{36}\\r?$`, 'm'));
  expect(rejected).toMatch(/^HTTP\/1\.1 400 Bad Request/);
  expect(rejected).toContain('"BOOK00002"');
  expect(moved).toContain('"bayId":"bay-n1-02"');
  expect(moved).toContain('"total":1');
  expect(moved).toMatch(/HTTP\/1\.1 204 No Content/);
});

test('the commands of the guide to the API give the documented statuses and error codes', async () => {
  const outputs = await runBlocks('docs/api.md');
  const codes = outputs.map((text) =>
    [...text.matchAll(/"code":"(\w+)"|HTTP\/1\.1 (\d+)/g)].map(([, code, status]) => code ?? status),
  );
  // Each row has the statuses and error codes in the output of one block.
  expect(codes).toEqual([
    [],
    [],
    ['201', '201', 'ERR00422', 'BOOK00001', 'BOOK00002'],
    ['BOOK00002'],
    ['BOOK00002', 'BOOK00002', 'BOOK00002', '204'],
    ['ERR00001', 'ERR00002', 'ERR00011', 'ERR00002'],
    ['304', '200', '412', 'ERR00412'],
    [],
    ['204', '204', '404', 'ERR00404'],
    ['200', '204', 'BOOK00003', '204'],
    [],
    [],
    ['202', '202', '202', '204'],
  ]);
});

test('the summary of npm start contains a curl command that gets a token and books a bay, also when it runs again', async () => {
  // The command begins with TOKEN= and ends before the next empty line.
  const [command = ''] = /TOKEN=[\s\S]*?(?=\n\s*\n|$)/.exec(system.output()) ?? [];
  for (const _ of [1, 2]) {
    const { stdout } = await run('sh', ['-e', '-c', command], { timeout: 30_000 });
    expect(stdout).toContain('"bayId":"bay-n1-');
  }
});

test.each(['/docs', '/openapi.json'])('bookings serves %s, to which the README links', async (path) => {
  expect((await fetch(`${system.bookings}${path}`)).status).toBe(200);
});

test.each(['google', 'facebook'])('without SOCIAL_PROVIDERS_FILE a stand-in replaces %s', async (name) => {
  const redirect = await fetch(`${system.auth}/social/${name}`, { redirect: 'manual' });
  expect(redirect.status).toBe(303);
  const page = await fetch(redirect.headers.get('location') as string);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain(', a stand-in</h1>');
});
