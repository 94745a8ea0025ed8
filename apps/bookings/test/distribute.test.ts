// Tests which tables `npm run distribute -w apps/bookings` distributes, and that the command changes nothing on a plain
// PostgreSQL. `tests/citus.test.ts` of the repository tests the command on a Citus cluster. All tests of this app can
// also run on a Citus cluster (TEST_DATABASE_URL).
import { query } from '@bay-booking/service/database/database';
import { distribute } from '@bay-booking/service/database/distribute';
import { createTestDatabase } from '@bay-booking/testkit/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { bookingsMigrations } from '../src/config.ts';
import { distribution } from '../src/database/distribution.ts';
import { isDistributed } from './support/lock-waits.ts';
import { createTestSystem } from './support/test-system.ts';

const system = useFixture(() => createTestSystem());

const distributedTables = [...distribution.colocated, ...distribution.independent];

test('every table is distributed by a column that is never null, or stays on the coordinator', async () => {
  const tables = await query<{ name: string }>(
    system.db,
    "select tablename as name from pg_tables where schemaname = 'public' order by 1",
  );
  const listed = [...distributedTables.map(({ table }) => table), ...distribution.local];
  expect(listed.toSorted()).toEqual(tables.map(({ name }) => name));
  for (const { table, column } of distributedTables) {
    const columns = await query(
      system.db,
      'select from pg_attribute where attrelid = $1::regclass and attname = $2 and attnotnull',
      [table, column],
    );
    expect(columns).toHaveLength(1);
  }
});

test('a colocated table is distributed after the tables that it references', async () => {
  const order = distribution.colocated.map(({ table }) => table);
  const references = await query<{ from: string; to: string }>(
    system.db,
    `select conrelid::regclass::text as from, confrelid::regclass::text as to from pg_constraint
     where contype = 'f' and connamespace = 'public'::regnamespace`,
  );
  const ofColocated = references.filter(({ from }) => order.includes(from));
  expect(ofColocated).not.toEqual([]);
  for (const { from, to } of ofColocated) expect(order.indexOf(to)).toBeLessThan(order.indexOf(from));
});

test('a second run, or a database without Citus, changes nothing', async () => {
  // `distribute` returns the tables that it has distributed, or undefined without Citus. On a Citus cluster,
  // createTestSystem has already distributed all tables.
  const options = { url: system.databaseUrl, directory: bookingsMigrations, distribution };
  expect(await distribute(options)).toEqual((await isDistributed(system.db)) ? [] : undefined);
});

test('without Citus, distribute does not require that the database is migrated', async () => {
  const empty = await createTestDatabase();
  try {
    expect(await distribute({ url: empty.url, directory: bookingsMigrations, distribution })).toBeUndefined();
  } finally {
    await empty.drop();
  }
});
