// Runs several statements in one transaction. `begin` is sent together with the first statements, so that a
// transaction whose statements are known in advance takes two round trips.
import type { Result } from './batch.ts';
import type { Connection, Statement } from './connection.ts';
import {
  connectionOf,
  type Database,
  findPool,
  poolOf,
  type Queryable,
  ReservedConnection,
} from './connection-source.ts';

export type { Statement } from './connection.ts';

/**
 * Sends the statements together and returns the rows of each. If one fails, the statements after it are not executed.
 */
export type Run = <Rows extends readonly object[][]>(...statements: readonly Statement[]) => Promise<Rows>;

/**
 * Runs `work` in a transaction. An error of `work` rolls it back. After an error of the commit itself, it is unknown
 * whether the transaction was committed. Inside a transaction of knex, the new one is a savepoint.
 */
export async function inTransaction<T>(db: Database, work: (run: Run) => Promise<T>): Promise<T> {
  const pool = findPool(db);
  if (!pool) return db.transaction(async (savepoint) => work(runOn(await connectionOf(savepoint))));
  const connection = pool.takeIdle() ?? (await pool.acquire().promise);
  let isBroken = false;
  try {
    const result = await work(runOn(connection, 'begin'));
    const [commit] = await sendAll(connection, [['commit']]);
    // If a statement has failed, PostgreSQL rolls back instead of committing and returns the tag ROLLBACK.
    if (commit?.command !== 'COMMIT') throw new Error('the transaction had failed before its end');
    return result;
  } catch (error) {
    await sendAll(connection, [['rollback']]).catch(() => {
      isBroken = true;
    });
    throw error;
  } finally {
    pool.release(connection, isBroken);
  }
}

export interface ReadOnlyTransaction {
  readonly run: Run;
  /** For functions that take a database: their statements run in this transaction. */
  readonly db: Queryable;
  /** Ends the transaction in the background. */
  readonly close: () => void;
}

/**
 * Begins a read-only transaction, which reserves a connection until `close`. The first statements must be sent with
 * `run`.
 */
export async function beginReadOnly(db: Database): Promise<ReadOnlyTransaction> {
  const pool = poolOf(db);
  const connection = pool.takeIdle() ?? (await pool.acquire().promise);
  const release = (): void => void pool.release(connection);
  return {
    run: runOn(connection, 'begin read only'),
    db: new ReservedConnection(connection),
    close: () => void sendAll(connection, [['commit']]).then(release, release),
  };
}

/** Sends `begin`, if given, together with the first statements. */
function runOn(connection: Connection, begin?: string): Run {
  let first: readonly Statement[] = begin === undefined ? [] : [[begin]];
  return async (...statements) => {
    const before = first;
    first = [];
    const results = await sendAll(connection, [...before, ...statements]);
    return results.slice(before.length).map(({ rows }) => rows) as never;
  };
}

function sendAll(connection: Connection, statements: readonly Statement[]): Promise<readonly Result[]> {
  return new Promise((resolve, reject) => {
    connection.send(statements, (error, results) => (error ? reject(error) : resolve(results)));
  });
}
