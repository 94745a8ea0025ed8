// Is the OpenAPI document good for those who generate from it? Linted by redocly's recommended rules, and the types made from it are the
// ones that are checked in, which `tsc` compiles and tests/readme.test.ts calls with. Contract section 7.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const run = promisify(execFile);

/** A script of this workspace, offline: what redocly needs is here, nothing is sent and no newer version asked for. */
const script = (...args: readonly string[]) =>
  run('npm', ['run', '--silent', ...args], {
    cwd: import.meta.dirname,
    env: { ...process.env, NODE_OPTIONS: '', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    timeout: 60_000,
  });

test('redocly lint finds nothing to say', async () => {
  const { stdout } = await script('lint', '--', '--format=json').catch((failure: { stdout?: string }) => {
    if (!failure.stdout?.trim()) throw failure;
    return { stdout: failure.stdout };
  });
  expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] });
}, 90_000);

test('the types that are checked in are those of the document', async () => {
  // `npm run generate -w tests` writes them anew.
  await script('generate', '--', '--check');
}, 90_000);

test('the guide lists every code of the document with its status', () => {
  const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  const { paths } = JSON.parse(read('apps/bookings/openapi.json')) as {
    paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
  };
  const documented = Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap(({ responses }) => Object.entries(responses))
    .flatMap(([status, response]) =>
      [...JSON.stringify(response).matchAll(/"((?:ERR|BOOK)\d{5})"/g)].map(([, code]) => `${code} ${status}`),
    );
  const listed = [...read('docs/api.md').matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(
    ([, code, status]) => `${code} ${status}`,
  );
  expect(listed.sort()).toEqual([...new Set(documented)].sort());
});
