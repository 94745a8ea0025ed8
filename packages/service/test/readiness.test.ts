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

test('a release is ready on its own schema', async () => {
  const directory = await createRelease('first', 'second');
  await migrate({ url: database.url, directory });
  await expect(databaseCheck(db, directory)()).resolves.toBeUndefined();
});

test('a release is ready on a newer schema if the names of all additional migrations begin with expand_', async () => {
  await migrate({ url: database.url, directory: await createRelease('first', 'expand_second', 'expand_third') });
  const check = databaseCheck(db, await createRelease('first'));
  await expect(check()).resolves.toBeUndefined();
});

test('a release is not ready on an empty database', async () => {
  const check = databaseCheck(db, await createRelease('first'));
  await expect(check()).rejects.toThrow('schema version 0 is older than 1: run migrate');
});

test('a release is not ready on an older schema', async () => {
  await migrate({ url: database.url, directory: await createRelease('first') });
  const check = databaseCheck(db, await createRelease('first', 'expand_second'));
  await expect(check()).rejects.toThrow('schema version 1 is older than 2: run migrate');
});

test('a release is not ready on a newer schema if an additional migration is not named expand_…', async () => {
  await migrate({ url: database.url, directory: await createRelease('first', 'expand_second', 'contract_third') });
  const check = databaseCheck(db, await createRelease('first'));
  await expect(check()).rejects.toThrow('schema version 3 is newer than 1: this release is too old');
});
