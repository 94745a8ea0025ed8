// Runs the shell commands of README.md and docs/api.md against the system that `npm start` starts, on other ports. Also
// tests the summary that `npm start` prints, the paths to which the README links, and the stand-in providers.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { read, shellBlocks } from '@bay-booking/testkit/repository';
import { describe, expect, test } from '@jest/globals';
import { useSystem } from './support/npm-start.ts';

const run = promisify(execFile);
const readme = shellBlocks(read('README.md'));
const guide = shellBlocks(read('docs/api.md'));

const system = useSystem();

const withTestPorts = (text: string) =>
  text.replaceAll('http://localhost:4000', system.auth).replaceAll('http://localhost:4001', system.bookings);

/** Runs all blocks in one shell session, with a separator between the outputs. Returns the output of each block. */
async function runBlocks(scripts: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run('sh', ['-e', '-c', withTestPorts(scripts.join('\necho; echo ------\n'))], {
    timeout: 60_000,
  });
  return stdout.split('------\n');
}

describe('the commands of the README', () => {
  test('the commands book a bay, get an error for a double booking, move the booking and delete it', async () => {
    expect(readme).toHaveLength(5);
    const [token, bays, created, rejected, moved] = (await runBlocks(readme)) as [
      string,
      string,
      string,
      string,
      string,
    ];
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

  test('the commands succeed when they run again', async () => {
    await runBlocks(readme);
    const [, , created] = await runBlocks(readme);
    expect(created).toMatch(/^HTTP\/1\.1 201 Created/);
  });
});

describe('the commands of the guide to the API', () => {
  test('the commands give the documented statuses and error codes, also when they run again', async () => {
    expect(guide).toHaveLength(12);
    for (const _ of [1, 2]) {
      const outputs = await runBlocks(guide);
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
        ['202', '202', '202', '204'],
      ]);
    }
  });
});

describe('the summary of npm start', () => {
  test('the summary names the addresses of both services, the API reference, the portal and the demo clients', () => {
    const summary = system.output();
    for (const text of [
      system.auth,
      system.bookings,
      `${system.bookings}/docs`,
      `${system.auth}/portal`,
      'demo-pat-north',
      'demo-web',
      'demo-spa',
      'demo-native',
      'demo-range',
      'demo-screen',
      'demo-display',
    ]) {
      expect(summary).toContain(text);
    }
  });

  test('the summary contains a curl command that gets a token and books a bay, also when it runs again', async () => {
    // The command begins with TOKEN= and ends before the next empty line.
    const [command = ''] = /TOKEN=[\s\S]*?(?=\n\s*\n|$)/.exec(system.output()) ?? [];
    for (const _ of [1, 2]) {
      const { stdout } = await run('sh', ['-e', '-c', command], { timeout: 30_000 });
      expect(stdout).toContain('"bayId":"bay-n1-');
    }
  });
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
