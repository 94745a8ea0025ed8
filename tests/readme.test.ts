// Do the README and the guide to the API tell the truth? Their shell blocks, run as written against what `npm start` starts; only the
// ports differ. And a call with the types made from the OpenAPI document.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import createClient from 'openapi-fetch';
import type { paths } from './generated/bookings-api.ts';
import { type RunningSystem, startSystem } from './support/npm-start.ts';

const run = promisify(execFile);
const blocksOf = (file: string) =>
  [...readFileSync(join(import.meta.dirname, '..', file), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
    (match) => match[1] as string,
  );
const blocks = blocksOf('README.md');
const guide = blocksOf('docs/api.md');

let system: RunningSystem;
beforeAll(async () => {
  system = await startSystem();
}, 90_000);
afterAll(async () => {
  await system?.stop();
}, 60_000);

const here = (text: string) =>
  text.replaceAll('http://localhost:4000', system.auth).replaceAll('http://localhost:4001', system.bookings);

/** One shell session runs all blocks; a marker line parts their outputs. */
async function runBlocks(scripts: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run('sh', ['-e', '-c', here(scripts.join('\necho; echo ------\n'))], { timeout: 60_000 });
  return stdout.split('------\n');
}

describe('the journey by curl', () => {
  test('gets a token, sees bays, books, is refused a double booking, finds, moves, lists and deletes', async () => {
    expect(blocks).toHaveLength(5);
    const [token, places, created, refused, moved] = (await runBlocks(blocks)) as [
      string,
      string,
      string,
      string,
      string,
    ];
    expect(token.trim()).toBe('');
    expect(places).toContain('"loc-north-1"');
    expect(places).toContain('"bay-n1-01"');
    expect(created).toMatch(/^HTTP\/1\.1 201 Created/);
    expect(created).toMatch(new RegExp(`^Location: ${system.bookings}/api/bookings/[0-9a-f-]{36}\\r?$`, 'm'));
    expect(refused).toMatch(/^HTTP\/1\.1 400 Bad Request/);
    expect(refused).toContain('"BOOK00002"');
    expect(moved).toContain('"bayId":"bay-n1-02"');
    expect(moved).toContain('"total":1');
    expect(moved).toMatch(/HTTP\/1\.1 204 No Content/);
  }, 60_000);

  test('can be walked again', async () => {
    const [, , created] = await runBlocks(blocks);
    expect(created).toMatch(/^HTTP\/1\.1 201 Created/);
  }, 60_000);
});

describe('the guide to the API', () => {
  test('runs from the token to the last booking deleted, twice', async () => {
    expect(guide).toHaveLength(14);
    for (const _ of [1, 2]) {
      const said = await runBlocks(guide);
      const codes = said.map((text) => [...text.matchAll(/"code":"(\w+)"|HTTP\/1\.1 (\d+)/g)].map((m) => m[1] ?? m[2]));
      expect(codes).toEqual([
        [],
        [],
        ['201'],
        ['ERR00422'],
        ['201'],
        ['ERR00001', 'ERR00002', 'BOOK00001', 'BOOK00002'],
        ['304'],
        ['200', '412', 'ERR00412'],
        [],
        [],
        [],
        [],
        ['404', 'ERR00404'],
        ['204', '204', '404', 'ERR00404'],
      ]);
    }
  }, 60_000);
});

test('a call with the types of the OpenAPI document', async () => {
  const token = await fetch(`${system.auth}/connect/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa('demo-pat-north:demo-pat-north-secret')}` },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'https://bay-booking.example/golf/bookings',
    }),
  }).then((response) => response.json() as Promise<{ access_token: string }>);
  const client = createClient<paths>({
    baseUrl: system.bookings,
    headers: { Authorization: `Bearer ${token.access_token}` },
  });
  const startDate = new Date(Date.now() + 86_400_000).toISOString();
  const body = { bayId: 'bay-n2-05', userAlias: 'Ada', startDate, endDate: startDate };
  const created = await client.POST('/api/bookings', { body });
  expect(created.data).toMatchObject(body);
  const path = { id: created.data?.id ?? '' };
  const found = await client.GET('/api/bookings', { params: { query: { ids: [path.id], isActive: true } } });
  expect(found.data?.items.map(({ id }) => id)).toEqual([path.id]);
  expect((await client.DELETE('/api/bookings/{id}', { params: { path } })).response.status).toBe(204);
  const gone = await client.GET('/api/bookings/{id}', { params: { path } });
  expect(gone.error?.errors.map(({ code }) => code)).toEqual(['ERR00404']);
}, 30_000);

describe('the summary of npm start', () => {
  test('names both addresses, the documentation, the portal and the demo clients', () => {
    const summary = system.output();
    for (const words of [
      system.auth,
      system.bookings,
      `${system.bookings}/docs`,
      `${system.auth}/portal`,
      'demo-pat-north',
      'demo-web',
      'demo-spa',
      'demo-native',
      'demo-range',
    ]) {
      expect(summary).toContain(words);
    }
  });

  test('its curl, pasted twice, gets a token and books a bay', async () => {
    const pasted = system.output().slice(system.output().indexOf('TOKEN='));
    const lines = pasted.split('\n');
    const command = lines
      .slice(0, lines.findIndex((line, index) => index > 0 && line.trim() === '') + 1 || undefined)
      .join('\n');
    for (const _ of [1, 2]) {
      const { stdout } = await run('sh', ['-e', '-c', command], { timeout: 30_000 });
      expect(stdout).toContain('"bayId":"bay-n1-');
    }
  }, 60_000);
});

test.each(['/docs', '/openapi.json'])('bookings%s, where the README points, answers', async (path) => {
  expect((await fetch(`${system.bookings}${path}`)).status).toBe(200);
});

test.each(['google', 'facebook'])('without SOCIAL_PROVIDERS_FILE a stand-in plays %s', async (name) => {
  const away = await fetch(`${system.auth}/social/${name}`, { redirect: 'manual' });
  expect(away.status).toBe(303);
  const page = await fetch(away.headers.get('location') as string);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain(', a stand-in</h1>');
});
