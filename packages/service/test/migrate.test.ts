// Tests that `migrate` applies each migration only once, rejects a migration that was changed after it had been
// applied, and repeats a migration that has failed (docs/behaviour.md, "Start-up"), and that a release is ready only if
// it can use the schema of the database (docs/behaviour.md, "Health, metrics and logs").
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, queryOnce, type TestDatabase } from '@bay-booking/testkit/database';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { connectDatabase } from '../src/database/database.ts';
import { migrate, unsupportedVersion } from '../src/database/migrate.ts';
import { databaseCheck } from '../src/http/readiness.ts';

let database: TestDatabase;
let directory: string;
beforeEach(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), 'migrations-'));
  await writeFile(join(directory, '0001_table.sql'), 'create table entry (n int); insert into entry values (1), (1);');
});
afterEach(async () => {
  await database.drop();
  await rm(directory, { recursive: true });
});

const run = () => migrate({ url: database.url, directory });

const execute = async (sql: string): Promise<readonly unknown[]> => (await queryOnce(database.url, sql)).rows;

test('two runs at the same time and a later third run apply each migration only once', async () => {
  const applied = await Promise.all([run(), run()]);
  expect(applied.flat()).toEqual([1]);
  expect(await run()).toEqual([]);
});

test.each([
  ['14.19', 'PostgreSQL 14.19 is too old: 15 or later is needed'],
  ['9.6.24', 'PostgreSQL 9.6.24 is too old: 15 or later is needed'],
  ['15.18 (Debian 15.18-0+deb12u1)', undefined],
  ['19beta1', undefined],
])('a server with the version %s is checked', (version, error) => {
  expect(unsupportedVersion(version)).toBe(error);
});

test('a run fails if the file of an applied migration was changed', async () => {
  await run();
  await writeFile(join(directory, '0001_table.sql'), 'create table other (n int)');
  await expect(run()).rejects.toThrow('migration 1 was changed');
});

test('an invalid index that a failed run has left behind is created again by the next run', async () => {
  // A file that begins with `-- no transaction` runs outside a transaction, as `concurrently` requires. `if not exists`
  // alone does not make the file repeatable: an invalid index exists too, so PostgreSQL would not create it again.
  // `migrate` therefore drops an invalid index before it runs the file again.
  const createIndex = '-- no transaction\ncreate unique index concurrently if not exists entry_once on entry (n)';
  await writeFile(join(directory, '0002_expand_once.sql'), createIndex);
  // The first migration has inserted the same value twice, so the unique index cannot be built and becomes invalid.
  await expect(run()).rejects.toThrow('migration 2 expand_once');
  const isValid = "select indisvalid from pg_index where indexrelid = 'entry_once'::regclass";
  expect(await execute(isValid)).toEqual([{ indisvalid: false }]);
  await execute('delete from entry');
  expect(await run()).toEqual([2]);
  expect(await execute(isValid)).toEqual([{ indisvalid: true }]);
});

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
  const releaseOf = async (name: string, migrations: readonly string[]) => {
    const folder = join(directory, name);
    await mkdir(folder);
    for (const [index, migration] of migrations.entries())
      await writeFile(join(folder, `000${index + 1}_${migration}.sql`), `create table ${migration} (id int)`);
    return folder;
  };
  if (applied.length > 0) await migrate({ url: database.url, directory: await releaseOf('applied', applied) });
  const db = connectDatabase({ url: database.url, applicationName: 'test' });
  const check = databaseCheck(db, await releaseOf('release', release))();
  if (error) await expect(check).rejects.toThrow(error);
  else await expect(check).resolves.toBeUndefined();
  await db.destroy();
});
