// Tests transactions, and the statements that a connection has prepared.
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  connectDatabase,
  type Database,
  isUnavailable,
  query,
  Rollback,
  send,
  transaction,
} from '../src/database/database.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  // With one connection, a query after a failed transaction shows whether the transaction has released the connection.
  // `queryTimeout` is in milliseconds. The tests run one statement that takes longer.
  db = connectDatabase({ url: database.url, applicationName: 'test', poolMax: 1, queryTimeout: 200 });
  await db.raw('create table word (text text primary key, length integer)');
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
beforeEach(async () => {
  await db('word').delete();
});

/** SQLSTATE codes of PostgreSQL. */
const uniqueViolation = '23505';
const divisionByZero = '22012';
const raise = (code: string) => `do $$ begin raise exception using errcode = '${code}'; end $$`;
const insert = 'insert into word values ($1, $2) returning text';

const readWords = () => db('word').orderBy('text').pluck('text');

describe('a transaction', () => {
  test.each([
    ['query', (tx: Parameters<typeof send>[0], values: unknown[]) => query(tx, insert, values)],
    ['send', async (tx: Parameters<typeof send>[0], values: unknown[]) => send(tx, insert, values)],
  ])('is rolled back when a statement of `%s` fails, with the error of this statement', async (_name, run) => {
    const work = transaction(db, (tx) => Promise.all([run(tx, ['a', 1]), run(tx, ['a', 1]), run(tx, ['b', 1])]));
    await expect(work).rejects.toMatchObject({ code: uniqueViolation });
    expect(await readWords()).toEqual([]);
  });

  test('fails with the error of the first statement, although the function sees the error of another one first', async () => {
    const pause = () => new Promise((resolve) => setImmediate(resolve));
    const work = transaction(db, async (tx) => {
      const failing = query(tx, raise('08006')).catch(async (error) => {
        await pause();
        throw error;
      });
      await Promise.all([failing, query(tx, insert, ['a', 1])]);
    });
    const error = await work.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: '08006' });
    expect(isUnavailable(error)).toBe(true);
  });

  test('is rolled back when its function throws an error after the statements', async () => {
    const work = transaction(db, async (tx) => {
      await query(tx, insert, ['a', 1]);
      throw new Error('changed my mind');
    });
    await expect(work).rejects.toThrow('changed my mind');
    expect(await readWords()).toEqual([]);
  });

  test('that is rolled back on purpose returns the result of the rollback', async () => {
    const result = await transaction<string>(db, async (tx) => {
      await query(tx, insert, ['a', 1]);
      throw new Rollback('refused');
    });
    expect(result).toBe('refused');
    expect(await readWords()).toEqual([]);
  });

  test('returns the result of a rollback, although its connection was lost before the rollback', async () => {
    const result = await transaction<string>(db, async (tx) => {
      await query(tx, insert, ['a', 1]);
      await query(tx, 'select pg_terminate_backend(pg_backend_pid())').catch(() => {});
      throw new Rollback('rejected');
    });
    expect(result).toBe('rejected');
    expect(await readWords()).toEqual([]);
  });

  test('fails if the function of the transaction ignores the error of a statement', async () => {
    const work = transaction(db, async (tx) => {
      await query(tx, insert, ['a', 1]);
      await query(tx, insert, ['a', 1]).catch(() => {});
    });
    await expect(work).rejects.toThrow('had failed before its end');
    expect(await readWords()).toEqual([]);
  });

  test('fails with a transient error if its connection is lost, and the next query succeeds', async () => {
    const work = transaction(db, async (tx) => {
      await query(tx, insert, ['a', 1]);
      await query(tx, 'select pg_terminate_backend(pg_backend_pid())');
    });
    expect(isUnavailable(await work.catch((error: unknown) => error))).toBe(true);
    expect(await readWords()).toEqual([]);
  });
});

describe('a prepared statement', () => {
  test('can be used after its first use has failed', async () => {
    const divide = 'select 6 / $1::integer as result';
    await expect(query(db, divide, [0])).rejects.toMatchObject({ code: divisionByZero });
    expect(await query(db, divide, [2])).toEqual([{ result: 3 }]);
    expect(await query(db, divide, [3])).toEqual([{ result: 2 }]);
  });

  test('can be used by `query` and by knex on the same connection', async () => {
    const sql = 'select $1::text as word';
    expect(await query(db, sql, ['a'])).toEqual([{ word: 'a' }]);
    expect((await db.raw('select ?::text as word', ['b'])).rows).toEqual([{ word: 'b' }]);
    expect(await query(db, sql, ['c'])).toEqual([{ word: 'c' }]);
  });

  test('with a value that cannot be converted fails, and later statements succeed', async () => {
    const circular: { self?: object } = {};
    circular.self = circular;
    await expect(query(db, 'select $1::json', [circular])).rejects.toThrow(/circular/);
    expect(await query(db, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('is not created if the URL has `prepared=false`', async () => {
    // pg_prepared_statements lists only the statements of its own connection, so both queries need the same connection.
    const url = `${database.url}?prepared=false`;
    const unpreparedDb = connectDatabase({ url, applicationName: 'test', poolMax: 1 });
    expect(await query(unpreparedDb, 'select $1::text as word', ['a'])).toEqual([{ word: 'a' }]);
    expect(await query(unpreparedDb, 'select name from pg_prepared_statements')).toEqual([]);
    await unpreparedDb.destroy();
  });
});
