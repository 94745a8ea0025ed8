// Tests the system that `npm start` starts with the commands that people copy: those of all documents, except those in
// a list, of which it checks the syntax, and those of the printed summary and of every flow of the demo page.
import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { promisify } from 'node:util';
import { freePort } from '@bay-booking/postgres/ports';
import { findViolations, launchChromium, overflowsHorizontally, viewports } from '@bay-booking/testkit/browser';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { decodeEntities } from '@bay-booking/testkit/html-forms';
import { codeBlocks, findFiles, read, root, shellBlocks } from '@bay-booking/testkit/repository';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, test } from '@jest/globals';
import { describeInChromium } from './support/browser-system.ts';
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

const demoPort = await freePort();
const demo = `http://localhost:${demoPort}`;
const system = useSystem({ MANAGEMENT: 'on', DEMO_PORT: String(demoPort) });

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
    timeout: 120_000,
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

  test.each(Object.keys(otherBlocks))('the shell accepts the blocks of %s that do not run here', (page) =>
    run('bash', ['-n', '-c', shellBlocks(read(page)).join('\n')]),
  );
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

test.each(['google', 'facebook'])('without SOCIAL_PROVIDERS_FILE a stand-in replaces %s', async (name) => {
  const redirect = await fetch(`${system.auth}/social/${name}`, { redirect: 'manual' });
  expect(redirect.status).toBe(303);
  const page = await fetch(redirect.headers.get('location') as string);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain(', a stand-in</h1>');
});

const player = { username: 'player@example.com', password: 'demo-player-pass' };

const textOf = (html: string): string => decodeEntities(html.replace(/<[^>]*>/g, ''));

const commandsOf = ({ html }: Page): readonly string[] =>
  [...html.matchAll(/<pre tabindex="0"><code>([\s\S]*?)<\/code>/g)].map(([, code = '']) => textOf(code));

const runJson = async (command: string): Promise<Record<string, unknown>> =>
  JSON.parse((await run('sh', ['-e', '-c', command], { timeout: 50_000 })).stdout);

/** Opens the page at the redirect address as if it had the port of the demo page. */
const openRedirect = (browser: FormBrowser, { url }: Page): Promise<Page> =>
  browser.open(`${demo}${url.pathname}${url.search}`);

/** Presses the buttons of a stand-in, the sign-in, the device page and the consent, until none of them is left. */
async function signIn(browser: FormBrowser, first: Page): Promise<Page> {
  let page = first;
  for (let step = 0; step < 5 && page.forms.length > 0; step += 1) {
    const has = (name: string) => page.forms.some(({ fields }) => fields.some((field) => field.name === name));
    const buttons = page.forms.flatMap((form) => form.buttons);
    const user = buttons.find(({ name }) => name === 'user');
    if (user) page = await browser.send(page, {}, { name: 'user', value: user.value });
    else if (has('password')) page = await browser.send(page, player);
    else if (buttons.some(({ name }) => name === 'decision'))
      page = await browser.send(page, {}, { name: 'decision', value: 'allow' });
    else if (has('user_code')) page = await browser.send(page, {}, 'Continue');
    else break;
  }
  return page;
}

describe('the demo page', () => {
  async function openBrowser(): Promise<FormBrowser> {
    const redirect = await fetch(`${system.auth}/social/google`, { redirect: 'manual' });
    return openFormBrowser([demo, system.auth, new URL(redirect.headers.get('location') as string).origin]);
  }

  test('each link signs a user in, and the commands at the redirect address get and refresh tokens', async () => {
    const { links } = await (await openBrowser()).open(demo);
    const flows = links.filter(({ href }) => /connect\/authorize|\/device|\/pushed/.test(href));
    for (const client of ['demo-web', 'demo-spa', 'demo-native', 'demo-range', 'demo-screen', 'demo-fapi'])
      expect(flows.filter(({ href }) => href.includes(`client_id=${client}`)).length).toBeGreaterThan(0);
    let refreshes = 0;
    for (const { href, text } of flows) {
      const browser = await openBrowser();
      let page = await browser.open(href);
      if (text === 'device') {
        const link = page.links.find((candidate) => candidate.text === 'Enter the code');
        await signIn(browser, await browser.open(link?.href as string));
      } else {
        const redirect = await signIn(browser, page);
        expect({ href, origin: redirect.url.origin }).toEqual({ href, origin: 'http://localhost:4010' });
        page = await openRedirect(browser, redirect);
        if (text.startsWith('implicit')) {
          expect(redirect.url.hash).toMatch(/[#&]access_token=/);
          continue;
        }
        expect(textOf(page.html)).toContain(redirect.url.searchParams.get('code'));
      }
      const [exchange, refresh] = commandsOf(page) as [string, string];
      const tokens = await runJson(exchange);
      expect({ href, tokens }).toEqual({ href, tokens: expect.objectContaining({ access_token: expect.any(String) }) });
      if (tokens.refresh_token && refresh.includes('REFRESH_TOKEN')) {
        const refreshed = await runJson(refresh.replace('REFRESH_TOKEN', String(tokens.refresh_token)));
        expect({ href, refreshed }).toMatchObject({ refreshed: { access_token: expect.any(String) } });
        refreshes += 1;
      }
    }
    expect(refreshes).toBeGreaterThan(2);
  });

  test('the commands of the other flows get tokens', async () => {
    const browser = await openBrowser();
    const commands = commandsOf(await browser.open(demo)).filter((command) => command.includes('grant_type='));
    for (const grant of ['client_credentials', 'password', 'social_access_token'])
      expect(commands.filter((command) => command.includes(grant)).length).toBeGreaterThan(0);
    for (const command of commands) {
      if (command.startsWith('TOKEN=')) expect(await runJson(command)).toHaveProperty('bayId');
      else
        expect({ command, tokens: await runJson(command) }).toMatchObject({
          tokens: { access_token: expect.any(String) },
        });
    }
  });

  test('parameters are escaped, and what is not a code is not in a command', async () => {
    const browser = await openBrowser();
    const value = `<script>alert("1")</script>'; rm -rf ~ #`;
    const page = await browser.open(`${demo}/callback?${new URLSearchParams({ code: value, [value]: value })}`);
    expect(page.status).toBe(200);
    expect(page.html).not.toContain('<script>alert');
    expect(textOf(page.html)).toContain(value);
    expect(commandsOf(page).join()).not.toContain('rm -rf');
    expect(page.headers.get('content-security-policy')).toContain(`default-src 'none'`);
  });

  test('/mail shows the mails as text, with their links', async () => {
    const browser = await openBrowser();
    const form = await browser.open(`${system.auth}/register`);
    const name = 'Ada <b>Fairway</b>';
    await browser.send(form, { name, username: 'ada@fairway.example', password: 'seven unusual lamps' });
    const hasMail = async () => (await browser.open(`${demo}/mail`)).html.includes('To ada@fairway.example');
    await eventually(hasMail);
    const page = await browser.open(`${demo}/mail`);
    expect(page.html).not.toContain('<b>');
    const link = page.links.find(({ href }) => href.startsWith(`${system.auth}/`));
    expect((await browser.open(link?.href as string)).status).toBe(200);
  });

  test('a website whose name leads to this machine cannot read the pages', async () => {
    const status = await new Promise((resolve) => {
      const options = { port: demoPort, host: '127.0.0.1', path: '/mail', headers: { Host: 'attacker.example' } };
      request(options, ({ statusCode }) => resolve(statusCode)).end();
    });
    expect(status).toBe(421);
    expect((await fetch(`${demo}/other`)).status).toBe(404);
    expect((await fetch(demo, { method: 'POST' })).status).toBe(405);
  });

  test('the summary names the page, its mails and the social access tokens', async () => {
    const [address] = /http\S+\/google\/native-token\S*/.exec(system.output()) ?? [];
    expect(system.output()).toContain(` ${demo}\n`);
    expect(system.output()).toContain(` ${demo}/mail\n`);
    expect(await (await fetch(address as string)).json()).toMatchObject({ access_token: expect.any(String) });
  });
});

describeInChromium('the demo page in a browser', () => {
  test('a script shows the fragment, and the pages are accessible on a phone and a desktop', async () => {
    const browser = await launchChromium();
    const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage();
    const messages: string[] = [];
    page.on('console', (message) => messages.push(message.text()));
    for (const path of ['/', '/mail', '/device?client_id=demo-screen', '/spa#access_token=abc.def&scope=%3Cb%3E']) {
      await page.goto(demo + path);
      for (const { width, scheme } of viewports) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme: scheme });
        const result = { violations: await findViolations(page), overflows: await overflowsHorizontally(page) };
        expect({ path, width, ...result }).toEqual({ path, width, violations: [], overflows: false });
      }
    }
    expect(await page.locator('#parameters').innerText()).toBe('access_token\tabc.def\nscope\t<b>');
    expect(await page.locator('#token').innerText()).toContain(`Authorization: Bearer abc.def'`);
    expect(messages).toEqual([]);
    await browser.close();
  });
});
