// Tests the databases for tests. Databases with migrations are separate copies of one migrated template.
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
  const [first, second, third] = await Promise.all(Array.from({ length: 3 }, () => create({ migrations })));
  const { url } = first as TestDatabase;
  // The migration creates the table `thing` with one row, whose id is 1.
  await query(url, 'insert into thing values (2)');
  expect(await query(url, 'select id from thing order by id')).toEqual([{ id: 1 }, { id: 2 }]);
  for (const other of [second, third] as TestDatabase[])
    expect(await query(other.url, 'select id from thing')).toEqual([{ id: 1 }]);
  const templates = await query(url, `select datname from pg_database where datname like 'template\\_%'`);
  expect(templates).toHaveLength(1);
});

test('a database without migrations is empty', async () => {
  const { url } = await create();
  expect(await query(url, `select from pg_tables where schemaname = 'public'`)).toEqual([]);
});

test('a database can be dropped while a connection is open', async () => {
  const { url, name, drop } = await create();
  const client = new pg.Client({ connectionString: url });
  // `drop` closes this connection. Without a listener, the error would end the process.
  client.on('error', () => {});
  await client.connect();
  await drop();
  const other = await create();
  expect(await query(other.url, `select from pg_database where datname = '${name}'`)).toEqual([]);
});
