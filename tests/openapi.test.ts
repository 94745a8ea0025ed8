// Lints the OpenAPI document with the recommended rules of Redocly, and compares it with docs/api.md.
import { read } from '@bay-booking/testkit/repository';
import { expect, test } from '@jest/globals';
import { runScript } from './support/npm-script.ts';

test('Redocly finds no problems in the OpenAPI document', async () => {
  // The command fails if there are problems. Its standard output then lists them.
  const { stdout } = await runScript('lint', '--', '--format=json').catch((failure: { stdout?: string }) => {
    if (!failure.stdout?.trim()) throw failure;
    return { stdout: failure.stdout };
  });
  expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] });
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
