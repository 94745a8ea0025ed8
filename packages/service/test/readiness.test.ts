// Tests that a release is ready only if it can use the schema of the database (docs/behaviour.md, "Health, metrics and
// logs"). Migrations with the name expand_… only add to the schema, so that the previous release can still use it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { connectDatabase, type Database } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { databaseCheck } from '../src/http/readiness.ts';

let database: TestDatabase;
let db: Database;
const folders: string[] = [];
beforeEach(async () => {
  database = await createTestDatabase();
  db = connectDatabase({ url: database.url, applicationName: 'test' });
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** Creates a directory with the migrations of a release, one for each name. Returns the path of the directory. */
async function createRelease(...names: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'release-'));
  folders.push(directory);
  for (const [index, name] of names.entries()) {
    await writeFile(join(directory, `000${index + 1}_${name}.sql`), `create table ${name} (id int)`);
  }
  return directory;
}

test.each<[title: string, applied: string[], release: string[], error: string | undefined]>([
  ['ready on its own schema', ['first', 'second'], ['first', 'second'], undefined],
  ['ready on a newer schema that only adds', ['first', 'expand_second', 'expand_third'], ['first'], undefined],
  ['not ready on an empty database', [], ['first'], 'schema version 0 is older than 1: run migrate'],
  [
    'not ready on an older schema',
    ['first'],
    ['first', 'expand_second'],
    'schema version 1 is older than 2: run migrate',
  ],
  [
    'not ready on a newer schema that removes something',
    ['first', 'expand_second', 'contract_third'],
    ['first'],
    'schema version 3 is newer than 1: this release is too old',
  ],
])('a release is %s', async (_title, applied, release, error) => {
  if (applied.length > 0) await migrate({ url: database.url, directory: await createRelease(...applied) });
  const check = databaseCheck(db, await createRelease(...release))();
  if (error) await expect(check).rejects.toThrow(error);
  else await expect(check).resolves.toBeUndefined();
});
