// Tests queries on a database server that responds too late or never. Also tests for which errors `isUnavailable`
// returns true: errors whose cause usually disappears after a moment, and the metrics of the pool and of failed
// statements.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { connectDatabase, type Database, isUnavailable, query, transaction } from '../src/database/database.ts';
import { collectDatabaseMetrics } from '../src/database/metrics.ts';
import { createMetrics } from '../src/metrics.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  // The query timeout is 200 ms. The tests run statements that take 20 s. The pool has only one connection, so the next
  // statement gets a new connection only if the pool has closed the old one.
  db = connectDatabase({ url: database.url, applicationName: 'test', poolMax: 1, queryTimeout: 200 });
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const errorOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describe('a statement that runs for longer than the query timeout', () => {
  test('fails as unavailable, and the next statement gets another connection', async () => {
    // Each connection to PostgreSQL has its own server process, so its process id identifies the connection.
    const [before] = await query<{ pid: number }>(db, 'select pg_backend_pid() as pid');
    expect(isUnavailable(await errorOf(query(db, 'select pg_sleep($1)', [20])))).toBe(true);
    const [after] = await query<{ pid: number }>(db, 'select pg_backend_pid() as pid');
    expect(after?.pid).not.toBe(before?.pid);
  });

  test('fails as unavailable inside a transaction, and ends the transaction', async () => {
    const work = transaction(db, (tx) => query(tx, 'select pg_sleep($1)', [20]));
    expect(isUnavailable(await errorOf(work))).toBe(true);
    // The pool has one connection. If it were still in the transaction, this statement would get no connection.
    expect(await query(db, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

test('a server that accepts connections and never responds makes a statement and a transaction fail as unavailable', async () => {
  const sockets = new Set<Socket>();
  const silentServer = createServer((socket) => void sockets.add(socket.on('error', () => {})));
  await once(silentServer.listen(0, '127.0.0.1'), 'listening');
  const { port } = silentServer.address() as AddressInfo;
  const url = `postgres://nobody@127.0.0.1:${port}/nothing`;
  // An attempt to connect fails after 2 s.
  const silentDb = connectDatabase({ url, applicationName: 'test', poolMax: 2 });
  const errors = await Promise.all([
    errorOf(query(silentDb, 'select 1')),
    errorOf(transaction(silentDb, (tx) => query(tx, 'select 1'))),
  ]);
  await silentDb.destroy();
  for (const socket of sockets) socket.destroy();
  silentServer.close();
  expect(errors.map(isUnavailable)).toEqual([true, true]);
});

describe('isUnavailable', () => {
  const raise = (code: string) => errorOf(query(db, `do $$ begin raise exception using errcode = '${code}'; end $$`));

  test.each([
    ['08006', 'connection_failure', true],
    ['28P01', 'invalid_password', true],
    ['40001', 'serialization_failure', true],
    ['40P01', 'deadlock_detected', true],
    ['53300', 'too_many_connections', true],
    ['55P03', 'lock_not_available', true],
    ['57014', 'query_canceled', true],
    ['57P01', 'admin_shutdown', true],
    ['58030', 'io_error', true],
    ['XX000', 'internal_error', true],
    ['22P02', 'invalid_text_representation', false],
    ['23505', 'unique_violation', false],
    ['42P01', 'undefined_table', false],
    ['42501', 'insufficient_privilege', false],
    ['P0001', 'raise_exception', false],
  ])('of SQLSTATE %s (%s) is %s', async (code, _name, expected) => {
    expect(isUnavailable(await raise(code))).toBe(expected);
  });
});

describe('the database metrics', () => {
  let measured: Database;
  afterEach(() => measured.destroy());

  function connectWithMetrics(url: string) {
    measured = connectDatabase({ url, applicationName: 'test', poolMax: 3 });
    const metrics = createMetrics('test');
    collectDatabaseMetrics(metrics, measured);
    return metrics.registry;
  }

  test('report the used and free connections of the pool and its limit', async () => {
    const registry = connectWithMetrics(database.url);
    await transaction(measured, async (tx) => {
      await query(tx, 'select 1');
      const text = await registry.metrics();
      expect(text).toMatch(/database_pool_connections\{state="used",service="test"\} 1/);
      expect(text).toMatch(/state="limit",service="test"\} 3/);
    });
    expect(await registry.metrics()).toMatch(/state="free",service="test"\} 1/);
  });

  test('count a failed statement by its SQLSTATE, inside and outside a transaction', async () => {
    const registry = connectWithMetrics(database.url);
    await expect(query(measured, 'select * from nowhere')).rejects.toMatchObject({ code: '42P01' });
    await expect(transaction(measured, (tx) => query(tx, 'select 1/0'))).rejects.toMatchObject({
      code: '22012',
    });
    const text = await registry.metrics();
    for (const code of ['42P01', '22012'])
      expect(text).toContain(`database_errors_total{code="${code}",service="test"} 1`);
  });

  test('count a transaction that runs again after a deadlock', async () => {
    const registry = connectWithMetrics(database.url);
    let runs = 0;
    const result = await transaction(measured, async (tx) => {
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
    await expect(query(measured, 'select 1')).rejects.toBeDefined();
    expect(await registry.metrics()).toMatch(/database_errors_total\{code="ECONNREFUSED"/);
  });
});
