// Checks that `npm run generate -w tests` would not change the files that it writes.
import { readFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { read } from '@bay-booking/testkit/repository';
import { describe, test } from '@jest/globals';
import { generateClientModules, generatedFolder } from './support/client-modules.ts';
import { runScript } from './support/npm-script.ts';

/** @throws {Error} with the first line that differs and the command that updates the file */
function expectUpToDate(file: string, checkedIn: string, generated: string): void {
  if (checkedIn === generated) return;
  const [actual, expected] = [checkedIn.split('\n'), generated.split('\n')];
  const index = expected.findIndex((text, position) => text !== actual[position]);
  const line = index === -1 ? expected.length : index;
  throw new Error(
    `${file} is outdated, run \`npm run generate\`. Line ${line + 1} is\n${actual[line]}\n` +
      `and should be\n${expected[line]}`,
  );
}

describe('packages/client', () => {
  const typesFile = join(generatedFolder, 'bookings-api.ts');

  test('the types are those that are generated from openapi.json', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'bay-booking-types-'));
    const file = join(folder.path, 'bookings-api.ts');
    await runScript('types', '--', file);
    expectUpToDate(typesFile, read(typesFile), readFileSync(file, 'utf8'));
  });

  test.each(Object.entries(generateClientModules()))(
    '%s is the module that is generated from openapi.json',
    (file, text) => expectUpToDate(file, read(file), text),
  );
});
