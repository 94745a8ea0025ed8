// Tests undocumented behaviour of knex and pg on which src/database relies
// (docs/decisions/0011-internals-of-knex-and-pg.md). If an upgrade changes this behaviour, the failing test says which
// module must be adapted.
import { createRequire } from 'node:module';
import { createTestDatabase, type TestDatabase } from '@bay-booking/testkit/database';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import knex, { type Knex } from 'knex';
import pg from 'pg';
import { serialize } from 'pg-protocol';
import type { PgConnection } from '../src/database/batch.ts';

const require = createRequire(import.meta.url);

/**
 * Defines a test that checks a behaviour of a library. If the check fails, the error names the library, its version,
 * the changed behaviour and the module that must be adapted.
 */
function reliesOn(library: 'knex' | 'pg', behaviour: string, module: string, check: () => Promise<void>): void {
  test(`${library}: ${behaviour}`, async () => {
    try {
      await check();
    } catch (cause) {
      const { version } = require(`${library}/package.json`) as { version: string };
      const message = `${library} ${version} changed "${behaviour}", which src/database/${module} relies on`;
      throw new Error(`${message} (docs/decisions/0011-internals-of-knex-and-pg.md): ${cause}`, { cause });
    }
  });
}

type KnexCallback = (error: unknown, response: object) => void;

/** Creates a knex whose pool has one simulated connection, and records the statements and the calls of the pool. */
function createRecordingKnex() {
  const statements: unknown[] = [];
  const calls: string[] = [];
  const connection = {
    query(statement: object, callback: KnexCallback): void {
      statements.push(statement);
      callback(null, { rows: [{ one: 1 }], rowCount: 1, command: 'SELECT' });
    },
  };
  const pool = {
    acquire: () => {
      calls.push('acquire');
      return { promise: Promise.resolve(connection) };
    },
    release: (released: unknown): boolean => {
      calls.push(released === connection ? 'release' : 'release of something else');
      return true;
    },
    destroy: async (): Promise<void> => void calls.push('destroy'),
    numUsed: () => 0,
    numFree: () => 0,
    numPendingAcquires: () => 0,
  };
  return { db: knex({ client: 'pg', connectionPool: pool }), pool, connection, statements, calls };
}

reliesOn('knex', "connectionPool accepts any object with the methods of knex's own pool", 'pool.ts', async () => {
  const { db, pool } = createRecordingKnex();
  expect(db.client.pool).toBe(pool);
});

reliesOn(
  'knex',
  'a statement calls acquire, query({ text, values }, callback) and release once each',
  'connection.ts',
  async () => {
    const { db, statements, calls } = createRecordingKnex();
    const response = await db.raw('select ?::int as one', [1]);
    expect(statements).toEqual([{ text: 'select $1::int as one', values: [1] }]);
    expect(response.rows).toEqual([{ one: 1 }]);
    expect(calls).toEqual(['acquire', 'release']);
  },
);

reliesOn('knex', 'a transaction runs all its statements on one connection', 'connection-source.ts', async () => {
  const { db, connection, statements, calls } = createRecordingKnex();
  let completedTransaction: Knex.Transaction | undefined;
  await db.transaction(async (transaction) => {
    completedTransaction = transaction;
    expect(await transaction.client.acquireConnection()).toBe(connection);
    expect(transaction.isCompleted()).toBe(false);
    await transaction.raw('select 1');
  });
  expect(completedTransaction?.isCompleted()).toBe(true);
  expect(statements).toEqual(['BEGIN;', 'select 1', 'COMMIT;'].map((text) => ({ text, values: [] })));
  expect(calls).toEqual(['acquire', 'release']);
});

reliesOn('knex', 'destroy does not close a connectionPool', 'database.ts', async () => {
  const { db, calls } = createRecordingKnex();
  await db.destroy();
  expect(calls).toEqual([]);
});

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  // Without a listener, a broken connection would end the process.
  client.on('error', () => {});
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const divisionByZero = '22012';

/** A method of the query object that pg has called, and the message that pg has passed to it. */
interface HandlerCall {
  readonly method: string;
  readonly message: unknown;
}

/**
 * Sends one statement with a query object. Returns the calls of the `handle…` methods of this object, until the
 * response is complete. The function `valueMapper` of the message Bind appends the digit 0 to each of `values`. The
 * result therefore shows that pg-protocol has called this function.
 */
async function handlerCallsFor(sql: string, values: readonly unknown[]): Promise<readonly HandlerCall[]> {
  const calls: HandlerCall[] = [];
  const completed = Promise.withResolvers<void>();
  const record = (method: string) => (message: unknown) => {
    calls.push({ method, message });
    if (method === 'handleReadyForQuery' || method === 'handleError') completed.resolve();
  };
  const query = {
    submit({ stream }: PgConnection) {
      // Sends the same kinds of messages as a batch. For the responses to Close, Parse and Bind, pg calls no method of
      // the query object, so `calls` does not contain these responses.
      stream.write(
        Buffer.concat([
          serialize.close({ type: 'S', name: 'unknown' }),
          serialize.parse({ text: sql, name: 'statement' }),
          serialize.bind({ statement: 'statement', values: [...values], valueMapper: (value) => `${value}0` }),
          serialize.describe({ type: 'P' }),
          serialize.execute(),
          serialize.close({ type: 'S', name: 'statement' }),
          serialize.sync(),
        ]),
      );
    },
  };
  const recordingQuery = new Proxy(query, {
    get: (target, name) =>
      typeof name === 'string' && name.startsWith('handle') ? record(name) : Reflect.get(target, name),
  });
  client.query(recordingQuery as unknown as pg.Submittable);
  await completed.promise;
  return calls;
}

reliesOn('pg', 'a query object sends its own messages, and pg calls it for each response', 'batch.ts', async () => {
  expect(await handlerCallsFor('select $1::int as ten', [1])).toMatchObject([
    { method: 'handleRowDescription', message: { fields: [{ name: 'ten', dataTypeID: pg.types.builtins.INT4 }] } },
    { method: 'handleDataRow', message: { fields: ['10'] } },
    { method: 'handleCommandComplete', message: { text: 'SELECT 1' } },
    { method: 'handleReadyForQuery' },
  ]);
});

reliesOn('pg', 'after an error, pg calls handleError of a query object and stays usable', 'batch.ts', async () => {
  // PostgreSQL must divide by zero only when it executes the statement. It would calculate a constant expression
  // earlier, so the expression contains random().
  expect(await handlerCallsFor('select 1 / (random() * $1::int)::int', [0])).toMatchObject([
    { method: 'handleRowDescription' },
    { method: 'handleError', message: { code: divisionByZero } },
  ]);
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

reliesOn('pg', 'utils.prepareValue converts values to the text that PostgreSQL reads', 'batch.ts', async () => {
  const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils;
  expect(prepareValue(['a', null])).toBe('{"a",NULL}');
  expect(prepareValue({ a: 1 })).toBe('{"a":1}');
  expect(prepareValue(undefined)).toBeNull();
  expect(Date.parse(String(prepareValue(new Date(0))))).toBe(0);
});

reliesOn('pg', 'end() makes the running statement and later statements fail', 'connection.ts', async () => {
  const endedClient = new pg.Client({ connectionString: database.url });
  endedClient.on('error', () => {});
  await endedClient.connect();
  const running = endedClient.query('select pg_sleep(20)').catch((error: Error) => error.message);
  await endedClient.end();
  expect(await running).toBe('Connection terminated');
  await expect(endedClient.query('select 1')).rejects.toThrow('is not queryable');
});
