// Tests transactions, and the statements that a connection has prepared.
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { connectDatabase, type Database, isUnavailable, query } from '../src/database/database.ts';
import { inTransaction } from '../src/database/transaction.ts';

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
const insert = 'insert into word values ($1, $2) returning text';

async function readWords(): Promise<readonly string[]> {
  const rows = await query<{ text: string }>(db, 'select text from word order by text');
  return rows.map(({ text }) => text);
}

describe('a transaction', () => {
  test('returns the rows of each statement', async () => {
    const results = await inTransaction(db, async (run) => {
      const first = await run([insert, ['a', 1]], [insert, ['b', null]]);
      const second = await run(['select text, length from word order by text']);
      return [...first, ...second];
    });
    expect(results).toEqual([
      [{ text: 'a' }],
      [{ text: 'b' }],
      [
        { text: 'a', length: 1 },
        { text: 'b', length: null },
      ],
    ]);
    expect(await readWords()).toEqual(['a', 'b']);
  });

  test('is rolled back when a statement fails, and later statements are not executed', async () => {
    const work = inTransaction(db, (run) => run([insert, ['a', 1]], [insert, ['a', 1]], [insert, ['b', 1]]));
    await expect(work).rejects.toMatchObject({ code: uniqueViolation });
    expect(await readWords()).toEqual([]);
  });

  test('is rolled back when its function throws an error after the statements', async () => {
    const work = inTransaction(db, async (run) => {
      await run([insert, ['a', 1]]);
      throw new Error('changed my mind');
    });
    await expect(work).rejects.toThrow('changed my mind');
    expect(await readWords()).toEqual([]);
  });

  test('fails if the function of the transaction ignores the error of a statement', async () => {
    const work = inTransaction(db, async (run) => {
      await run([insert, ['a', 1]]);
      await run([insert, ['a', 1]]).catch(() => {});
    });
    await expect(work).rejects.toThrow('had failed before its end');
    expect(await readWords()).toEqual([]);
  });

  test('fails with a transient error if its connection is lost, and the next query succeeds', async () => {
    const work = inTransaction(db, (run) => run([insert, ['a', 1]], ['select pg_terminate_backend(pg_backend_pid())']));
    expect(isUnavailable(await work.catch((error: unknown) => error))).toBe(true);
    expect(await readWords()).toEqual([]);
  });

  test('fails with a transient error if a statement runs for too long, and the next query succeeds', async () => {
    const work = inTransaction(db, (run) => run(['select pg_sleep($1)', [20]]));
    expect(isUnavailable(await work.catch((error: unknown) => error))).toBe(true);
    expect(await readWords()).toEqual([]);
  });

  test('inside a transaction of knex is a savepoint, so its rollback does not affect the outer transaction', async () => {
    await db.transaction(async (outer) => {
      await query(outer, insert, ['a', 1]);
      const inner = inTransaction(outer, async (run) => {
        await run([insert, ['b', 1]]);
        throw new Error('changed my mind');
      });
      await expect(inner).rejects.toThrow('changed my mind');
    });
    expect(await readWords()).toEqual(['a']);
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

  test('converts its columns with the parsers of each call', async () => {
    const sql = 'select $1::integer as one';
    const textParsers = { getTypeParser: () => (text: string) => text };
    expect(await query(db, sql, [1])).toEqual([{ one: 1 }]);
    expect(await query(db, sql, [1], textParsers)).toEqual([{ one: '1' }]);
    expect(await query(db, sql, [1])).toEqual([{ one: 1 }]);
  });

  test('with a value that cannot be converted fails, and later statements succeed', async () => {
    const circular: { self?: object } = {};
    circular.self = circular;
    await expect(query(db, 'select $1::json', [circular])).rejects.toThrow(/circular/);
    expect(await query(db, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('is not created with the option `prepared: false`', async () => {
    // pg_prepared_statements lists only the statements of its own connection, so both queries need the same connection.
    const unpreparedDb = connectDatabase({ url: database.url, applicationName: 'test', poolMax: 1, prepared: false });
    expect(await query(unpreparedDb, 'select $1::text as word', ['a'])).toEqual([{ word: 'a' }]);
    expect(await query(unpreparedDb, 'select name from pg_prepared_statements')).toEqual([]);
    await unpreparedDb.destroy();
  });
});
