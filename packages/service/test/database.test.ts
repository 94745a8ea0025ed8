// Tests queries on a database server that responds slowly, never responds, or is unavailable.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connectDatabase, type Database, isUnavailable, query } from '../src/database/database.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = connectDatabase({ url: database.url, applicationName: 'test', poolMax: 1, queryTimeout: 200 });
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

describe('a statement whose response is overdue', () => {
  test('fails with a transient error, and the next statement gets another connection', async () => {
    const [before] = await query<{ pid: number }>(db, 'select pg_backend_pid() as pid');
    const overdue = await query(db, 'select pg_sleep($1)', [20]).catch((error: unknown) => error);
    expect(isUnavailable(overdue)).toBe(true);
    const [after] = await query<{ pid: number }>(db, 'select pg_backend_pid() as pid');
    expect(after?.pid).not.toBe(before?.pid);
  });

  test('fails inside a transaction too, and ends the transaction', async () => {
    const work = db.transaction((transaction) => query(transaction, 'select pg_sleep($1)', [20]));
    expect(isUnavailable(await work.catch((error: unknown) => error))).toBe(true);
    expect(await query(db, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('a server that accepts connections and never responds', () => {
  test('causes a transient error of a statement and of a transaction', async () => {
    const connections = new Set<Socket>();
    const silent = createServer((socket) => void connections.add(socket.on('error', () => {})));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as AddressInfo;
    const url = `postgres://nobody@127.0.0.1:${port}/nothing`;
    const unresponsive = connectDatabase({ url, applicationName: 'test', poolMax: 2 });
    const failures = await Promise.all(
      [query(unresponsive, 'select 1'), unresponsive.transaction((transaction) => query(transaction, 'select 1'))].map(
        (asked) => asked.catch((error: unknown) => error),
      ),
    );
    await unresponsive.destroy();
    for (const socket of connections) socket.destroy();
    silent.close();
    expect(failures.map(isUnavailable)).toEqual([true, true]);
  });
});

describe('isUnavailable', () => {
  const raised = async (code: string) => {
    const raise = query(db, `do $$ begin raise exception using errcode = '${code}'; end $$`);
    return isUnavailable(await raise.catch((error: unknown) => error));
  };

  test.each(['08006', '28P01', '40001', '40P01', '53300', '55P03', '57014', '57P01', '58030', 'XX000'])(
    'is true for SQLSTATE %s',
    async (code) => {
      expect(await raised(code)).toBe(true);
    },
  );

  test.each(['22P02', '23505', '42P01', '42501', 'P0001'])('is false for SQLSTATE %s', async (code) => {
    expect(await raised(code)).toBe(false);
  });
});
