// Lints the OpenAPI document with the recommended rules of Redocly, and compares the document with the files that
// depend on it: the generated modules of packages/client, the TypeScript examples, and docs/api.md (docs/behaviour.md,
// "The OpenAPI document").
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { read } from '@bay-booking/testkit/repository';
import { expect, test } from '@jest/globals';
import { generateClientModules, generatedFolder } from './support/client-modules.ts';
import { expectUpToDate } from './support/generated-file.ts';

const run = promisify(execFile);

/**
 * Runs an npm script of this workspace. The variables stop Redocly from sending telemetry and looking for updates, and
 * remove the options of Node that only Jest needs.
 */
const runScript = (...args: readonly string[]) =>
  run('npm', ['run', '--silent', ...args], {
    cwd: import.meta.dirname,
    env: { ...process.env, NODE_OPTIONS: '', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    timeout: 60_000,
  });

test('Redocly finds no problems in the OpenAPI document', async () => {
  // The command fails if there are problems. Its standard output then lists them.
  const { stdout } = await runScript('lint', '--', '--format=json').catch((failure: { stdout?: string }) => {
    if (!failure.stdout?.trim()) throw failure;
    return { stdout: failure.stdout };
  });
  expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] });
}, 90_000);

const typesFile = join(generatedFolder, 'bookings-api.ts');

test('the types of packages/client are the types that are generated from openapi.json', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bay-booking-types-'));
  try {
    const file = join(folder, 'bookings-api.ts');
    await runScript('types', '--', file);
    expectUpToDate(typesFile, read(typesFile), readFileSync(file, 'utf8'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 90_000);

test.each(Object.entries(generateClientModules()))(
  '%s is the module that is generated from openapi.json',
  (file, text) => {
    expectUpToDate(file, read(file), text);
  },
);

type Operations = Record<string, { 'x-codeSamples': { lang: string; source: string }[]; operationId: string }>;

/** Returns the TypeScript example of each endpoint, with the operation id of the endpoint. */
function typeScriptSamples(): readonly (readonly [string, string])[] {
  const { paths } = JSON.parse(read('apps/bookings/openapi.json')) as { paths: Record<string, Operations> };
  return Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .map(({ operationId, 'x-codeSamples': samples }) => {
      const sample = samples.find(({ lang }) => lang === 'TypeScript');
      return [operationId, sample?.source ?? ''];
    });
}

test('the TypeScript examples in the OpenAPI document compile with packages/client', async () => {
  // The folder is inside the repository, so that the compiler finds packages/client.
  const folder = await mkdtemp(join(import.meta.dirname, '.samples-'));
  try {
    for (const [name, source] of typeScriptSamples()) await writeFile(join(folder, `${name}.ts`), source);
    await writeFile(
      join(folder, 'tsconfig.json'),
      '{ "extends": "../../tsconfig.json", "include": ["*.ts"], "exclude": [] }',
    );
    // The compiler fails if there are errors. Its standard output then lists them.
    const compiled = run('tsc', ['-p', folder], { timeout: 60_000 });
    const { stdout } = await compiled.catch((failure: { stdout: string }) => failure);
    expect(stdout).toBe('');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 90_000);

test('docs/api.md lists every error code of the OpenAPI document with its status', () => {
  const { components } = JSON.parse(read('apps/bookings/openapi.json')) as {
    components: { responses: Record<string, { content: { 'application/json': { examples: object } } }> };
  };
  // The name of a response consists of `Error` and the status, such as Error404.
  const documented = Object.entries(components.responses).flatMap(([name, { content }]) =>
    Object.keys(content['application/json'].examples).map((code) => `${code} ${name.replace('Error', '')}`),
  );
  const listed = [...read('docs/api.md').matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(
    ([, code, status]) => `${code} ${status}`,
  );
  expect(listed.sort()).toEqual(documented.sort());
});
