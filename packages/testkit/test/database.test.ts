// Tests that each test database is a separate copy of one migrated template. This must also be true for databases that
// are created at the same time.
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../src/database.ts';

const created: TestDatabase[] = [];
const migrations = join(import.meta.dirname, 'migrations');

async function create(options?: { migrations: string }): Promise<TestDatabase> {
  const database = await createTestDatabase(options);
  created.push(database);
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
  for (const database of created) await database.drop();
});

test('databases created at the same time are migrated from one template and share no data', async () => {
  const [one, two, three] = await Promise.all([create({ migrations }), create({ migrations }), create({ migrations })]);
  await query(one.url, 'insert into thing values (2)');
  expect(await query(one.url, 'select id from thing order by id')).toEqual([{ id: 1 }, { id: 2 }]);
  expect(await query(two.url, 'select id from thing')).toEqual([{ id: 1 }]);
  expect(await query(three.url, 'select id from thing')).toEqual([{ id: 1 }]);
  const templates = await query(one.url, `select datname from pg_database where datname like 'template\\_%'`);
  expect(templates).toHaveLength(1);
});

test('a database without migrations is empty', async () => {
  const { url } = await create();
  expect(await query(url, `select from pg_tables where schemaname = 'public'`)).toEqual([]);
});

test('a database can be dropped while a connection is open', async () => {
  const { url, name, drop } = await create();
  const open = new pg.Client({ connectionString: url });
  open.on('error', () => {});
  await open.connect();
  await drop();
  const [one] = created as [TestDatabase];
  expect(await query(one.url, `select from pg_database where datname = '${name}'`)).toEqual([]);
});
