// Runs several statements in one transaction. BEGIN is sent together with the first statements. A transaction whose
// statements are all sent together therefore takes only two round trips to the server.
import type { Result } from './batch.ts';
import type { Connection, Statement } from './connection.ts';
import {
  connectionOf,
  type Database,
  findPool,
  type Queryable,
  ReservedConnection,
  requirePool,
} from './connection-source.ts';

export type { Statement } from './connection.ts';

/**
 * Sends the statements together, and returns the rows of each statement. If a statement fails, rejects with its error,
 * and the later statements are not executed.
 */
export type Run = <Rows extends readonly object[][]>(...statements: readonly Statement[]) => Promise<Rows>;

/**
 * Runs `work` in a transaction and returns its result. If `work` throws an error, the transaction is rolled back. If
 * `db` is a transaction of knex, `work` runs in a savepoint.
 * @throws {Error} the error of `work` or of the commit. After an error of the commit, it is unknown whether the
 * transaction was committed.
 */
export async function inTransaction<T>(db: Database, work: (run: Run) => Promise<T>): Promise<T> {
  // If `db` is a transaction of knex, it has no pool. `work` then runs in a savepoint of this transaction.
  const pool = findPool(db);
  if (!pool) return db.transaction(async (savepoint) => work(runOn(await connectionOf(savepoint))));
  const connection = await pool.acquire().promise;
  let isBroken = false;
  try {
    const result = await work(runOn(connection, 'begin'));
    const [commit] = await sendAll(connection, [['commit']]);
    // If a statement has failed, PostgreSQL responds to `commit` with a rollback and the command tag ROLLBACK.
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
  /** Functions that get this database run their statements in this transaction. */
  readonly db: Queryable;
  /** Ends the transaction in the background. */
  readonly close: () => void;
}

/**
 * Begins a read-only transaction, which reserves a connection until `close`. The first statements must be sent with
 * `run`, because only `run` sends `begin read only` before them.
 */
export async function beginReadOnly(db: Database): Promise<ReadOnlyTransaction> {
  const pool = requirePool(db);
  const connection = await pool.acquire().promise;
  const release = (): void => void pool.release(connection);
  return {
    run: runOn(connection, 'begin read only'),
    db: new ReservedConnection(connection),
    close: () => void sendAll(connection, [['commit']]).then(release, release),
  };
}

/**
 * Returns a function that runs statements on the connection. `begin` is a statement, such as `begin read only`, that
 * the first call of the function sends before its own statements.
 */
function runOn(connection: Connection, begin?: string): Run {
  let unsent: readonly Statement[] = begin === undefined ? [] : [[begin]];
  return async (...statements) => {
    const before = unsent;
    unsent = [];
    const results = await sendAll(connection, [...before, ...statements]);
    // With this cast, the caller chooses the types of the rows: they are the type argument of `Run`.
    return results.slice(before.length).map(({ rows }) => rows) as never;
  };
}

function sendAll(connection: Connection, statements: readonly Statement[]): Promise<readonly Result[]> {
  return new Promise((resolve, reject) => {
    connection.send(statements, (error, results) => (error ? reject(error) : resolve(results)));
  });
}
