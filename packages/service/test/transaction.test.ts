import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { connectDatabase, type Database, isUnavailable, query } from '../src/database/database.ts';
import { inTransaction } from '../src/database/transaction.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
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

const insert = 'insert into word values ($1, $2) returning text';
const words = async () =>
  (await query<{ text: string }>(db, 'select text from word order by text')).map(({ text }) => text);

describe('a transaction', () => {
  test('sends its statements together and answers the rows of each', async () => {
    const answers = await inTransaction(db, async (run) => {
      const first = await run([insert, ['a', 1]], [insert, ['b', null]]);
      const second = await run(['select text, length from word order by text']);
      return [...first, ...second];
    });
    expect(answers).toEqual([
      [{ text: 'a' }],
      [{ text: 'b' }],
      [
        { text: 'a', length: 1 },
        { text: 'b', length: null },
      ],
    ]);
    expect(await words()).toEqual(['a', 'b']);
  });

  test('leaves nothing behind when a statement fails, and none after it is run', async () => {
    const work = inTransaction(db, (run) => run([insert, ['a', 1]], [insert, ['a', 1]], [insert, ['b', 1]]));
    await expect(work).rejects.toMatchObject({ code: '23505' });
    expect(await words()).toEqual([]);
  });

  test('leaves nothing behind when its work throws after its statements', async () => {
    const work = inTransaction(db, async (run) => {
      await run([insert, ['a', 1]]);
      throw new Error('changed my mind');
    });
    await expect(work).rejects.toThrow('changed my mind');
    expect(await words()).toEqual([]);
  });

  test('does not pass for done when the failure of a statement is swallowed', async () => {
    const work = inTransaction(db, async (run) => {
      await run([insert, ['a', 1]]);
      await run([insert, ['a', 1]]).catch(() => {});
    });
    await expect(work).rejects.toThrow('had failed before its end');
    expect(await words()).toEqual([]);
  });

  test('whose connection is lost is passing trouble, and the next one gets another', async () => {
    const work = inTransaction(db, (run) => run([insert, ['a', 1]], ['select pg_terminate_backend(pg_backend_pid())']));
    expect(isUnavailable(await work.catch((error: unknown) => error))).toBe(true);
    expect(await words()).toEqual([]);
  });

  test('whose answer is overdue fails, and the next one gets another connection', async () => {
    const work = inTransaction(db, (run) => run(['select pg_sleep($1)', [20]]));
    expect(isUnavailable(await work.catch((error: unknown) => error))).toBe(true);
    expect(await words()).toEqual([]);
  });

  test('inside a transaction of knex is a savepoint', async () => {
    await db.transaction(async (outer) => {
      await query(outer, insert, ['a', 1]);
      const inner = inTransaction(outer, async (run) => {
        await run([insert, ['b', 1]]);
        throw new Error('changed my mind');
      });
      await expect(inner).rejects.toThrow('changed my mind');
    });
    expect(await words()).toEqual(['a']);
  });
});

describe('a statement that is prepared', () => {
  test('works again after it failed on its first use', async () => {
    const divide = 'select 6 / $1::integer as result';
    await expect(query(db, divide, [0])).rejects.toMatchObject({ code: '22012' });
    expect(await query(db, divide, [2])).toEqual([{ result: 3 }]);
    expect(await query(db, divide, [3])).toEqual([{ result: 2 }]);
  });

  test('may be sent by knex as well', async () => {
    const sql = 'select $1::text as said';
    expect(await query(db, sql, ['a'])).toEqual([{ said: 'a' }]);
    expect((await db.raw('select ?::text as said', ['b'])).rows).toEqual([{ said: 'b' }]);
    expect(await query(db, sql, ['c'])).toEqual([{ said: 'c' }]);
  });

  test('reads its columns as it is told each time', async () => {
    const sql = 'select $1::integer as one';
    const asText = { getTypeParser: () => (text: string) => text };
    expect(await query(db, sql, [1])).toEqual([{ one: 1 }]);
    expect(await query(db, sql, [1], asText)).toEqual([{ one: '1' }]);
    expect(await query(db, sql, [1])).toEqual([{ one: 1 }]);
  });

  test('with a value that cannot be sent fails by itself', async () => {
    const circular: { self?: object } = {};
    circular.self = circular;
    await expect(query(db, 'select $1::json', [circular])).rejects.toThrow(/circular/);
    expect(await query(db, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('needs no name where names are lost', async () => {
    const plain = connectDatabase({ url: database.url, applicationName: 'test', prepared: false });
    expect(await query(plain, 'select $1::text as said', ['a'])).toEqual([{ said: 'a' }]);
    expect(await query(plain, 'select name from pg_prepared_statements')).toEqual([]);
    await plain.destroy();
  });
});
