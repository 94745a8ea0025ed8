// Lints the OpenAPI document with the recommended rules of Redocly, compiles its TypeScript examples, and compares it
// with docs/api.md (docs/behaviour.md, "The OpenAPI document").
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { read } from '@bay-booking/testkit/repository';
import { expect, test } from '@jest/globals';
import { runScript } from './support/npm-script.ts';

const run = promisify(execFile);

test('Redocly finds no problems in the OpenAPI document', async () => {
  // The command fails if there are problems. Its standard output then lists them.
  const { stdout } = await runScript('lint', '--', '--format=json').catch((failure: { stdout?: string }) => {
    if (!failure.stdout?.trim()) throw failure;
    return { stdout: failure.stdout };
  });
  expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] });
});

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
});

test('docs/api.md lists every error code of the OpenAPI document with its status', () => {
  const { components } = JSON.parse(read('apps/bookings/openapi.json')) as {
    components: { responses: Record<string, { content: { 'application/json': { examples: object } } }> };
  };
  // The name of a response consists of `Error` and the status, such as Error404.
  const documented = Object.entries(components.responses).flatMap(([name, { content }]) =>
    Object.keys(content['application/json'].examples).map((code) => `${code} ${name.replace('Error', '')}`),
  );
  // The number of ERR00400 to ERR00503 is the status. The status of the other codes is 400.
  const listed = [...read('docs/api.md').matchAll(/^\| `(\w+)` \|/gm)].map(
    ([, code = '']) => `${code} ${/^ERR00([45]\d\d)$/.exec(code)?.[1] ?? 400}`,
  );
  expect(listed.sort()).toEqual(documented.sort());
});
