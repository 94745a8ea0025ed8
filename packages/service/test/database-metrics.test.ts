// Tests the metrics of the connection pool and of failed statements.
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { connectDatabase, type Database, query, transaction } from '../src/database/database.ts';
import { collectDatabaseMetrics } from '../src/database/metrics.ts';
import { createMetrics } from '../src/metrics.ts';

/** SQLSTATE codes of PostgreSQL. */
const undefinedTable = '42P01';
const divisionByZero = '22012';

let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

function connectWithMetrics(url: string) {
  db = connectDatabase({ url, applicationName: 'test', poolMax: 3 });
  const metrics = createMetrics('test');
  collectDatabaseMetrics(metrics, db);
  return metrics.registry;
}

describe('the database metrics', () => {
  test('report the used and free connections of the pool and its limit', async () => {
    const registry = connectWithMetrics(database.url);
    await transaction(db, async (tx) => {
      await query(tx, 'select 1');
      const text = await registry.metrics();
      expect(text).toMatch(/database_pool_connections\{state="used",service="test"\} 1/);
      expect(text).toMatch(/state="limit",service="test"\} 3/);
    });
    expect(await registry.metrics()).toMatch(/state="free",service="test"\} 1/);
  });

  test('count a failed statement by its SQLSTATE, inside and outside a transaction', async () => {
    const registry = connectWithMetrics(database.url);
    await expect(query(db, 'select * from nowhere')).rejects.toMatchObject({ code: undefinedTable });
    await expect(transaction(db, (tx) => query(tx, 'select 1/0'))).rejects.toMatchObject({
      code: divisionByZero,
    });
    const text = await registry.metrics();
    for (const code of [undefinedTable, divisionByZero])
      expect(text).toContain(`database_errors_total{code="${code}",service="test"} 1`);
  });

  test('count a transaction that runs again after a deadlock', async () => {
    const registry = connectWithMetrics(database.url);
    let runs = 0;
    const result = await transaction(db, async (tx) => {
      runs += 1;
      if (runs === 1) await query(tx, "do $$ begin raise exception using errcode = '40P01'; end $$");
      return runs;
    });
    expect(result).toBe(2);
    expect(await registry.metrics()).toMatch(/database_retries_total\{service="test"\} 1/);
  });

  test('count a failed connection by the code of the network error', async () => {
    // No server listens on port 1.
    const registry = connectWithMetrics('postgres://nobody@127.0.0.1:1/none');
    await expect(query(db, 'select 1')).rejects.toBeDefined();
    expect(await registry.metrics()).toMatch(/database_errors_total\{code="ECONNREFUSED"/);
  });
});
