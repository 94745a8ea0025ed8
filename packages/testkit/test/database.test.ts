// Each test database is a copy of its own of a template that is migrated once, also when several are asked for at the same moment.
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../src/database.ts';

const made: TestDatabase[] = [];
const migrations = join(import.meta.dirname, 'migrations');

async function create(options?: { migrations: string }): Promise<TestDatabase> {
  const database = await createTestDatabase(options);
  made.push(database);
  return database;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

afterAll(async () => {
  for (const database of made) await database.drop();
});

test('several asked for at once are migrated, and none sees what another writes', async () => {
  const [one, two, three] = await Promise.all([create({ migrations }), create({ migrations }), create({ migrations })]);
  await query(one.url, 'insert into thing values (2)');
  expect(await query(one.url, 'select id from thing order by id')).toEqual([{ id: 1 }, { id: 2 }]);
  expect(await query(two.url, 'select id from thing')).toEqual([{ id: 1 }]);
  expect(await query(three.url, 'select id from thing')).toEqual([{ id: 1 }]);
  const templates = await query(one.url, `select datname from pg_database where datname like 'template\\_%'`);
  expect(templates).toHaveLength(1);
});

test('without migrations it is empty', async () => {
  const { url } = await create();
  expect(await query(url, `select from pg_tables where schemaname = 'public'`)).toEqual([]);
});

test('a dropped one is gone, even while a connection is open', async () => {
  const { url, name, drop } = await create();
  const open = new pg.Client({ connectionString: url });
  open.on('error', () => {});
  await open.connect();
  await drop();
  const [one] = made as [TestDatabase];
  expect(await query(one.url, `select from pg_database where datname = '${name}'`)).toEqual([]);
});
