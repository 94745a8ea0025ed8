// Connects to PostgreSQL and runs queries.
//
// This module, transaction.ts, migrate.ts and distribute.ts are the interface of this folder. The other modules are
// internal (docs/decisions/0011-internals-of-knex-and-pg.md).
import knex from 'knex';
import type { TypeParsers } from './batch.ts';
import { Connection } from './connection.ts';
import {
  connectionSourceOf,
  type Database,
  findPool,
  type Queryable,
  requirePool,
  setPool,
} from './connection-source.ts';
import { isTransactionConflict } from './errors.ts';
import { Pool } from './pool.ts';
import { createErrorInspector } from './schema-version.ts';

export type { Database, Queryable } from './connection-source.ts';
export { errorCode, isUnavailable } from './errors.ts';
export { jsonText } from './json.ts';
export { collectDatabaseMetrics } from './metrics.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly applicationName: string;
  /**
   * The maximum number of connections of this instance. The sum over all instances should be twice the number of CPU
   * cores of the database.
   */
  readonly poolMax?: number;
  /** `false` if a PgBouncer older than 1.21 is in transaction mode, which does not support prepared statements. */
  readonly prepared?: boolean;
  /**
   * How long one statement may take, in ms. The `statement_timeout` of the database role should be a little shorter.
   */
  readonly queryTimeout?: number;
  /**
   * The folder of the service's migrations. If it is set, `isUnavailable` returns true for errors that occur because
   * the schema of the database does not fit this release.
   */
  readonly migrationsDirectory?: string;
}

export function connectDatabase(options: DatabaseOptions): Database {
  const { url, applicationName, poolMax = 10, prepared = true, queryTimeout = 8_000, migrationsDirectory } = options;
  const inspectError = migrationsDirectory === undefined ? undefined : createErrorInspector(url, migrationsDirectory);
  const pool: Pool<Connection> = new Pool({
    max: poolMax,
    acquireTimeout: 3_000,
    idleTimeout: 30_000,
    open: () =>
      Connection.open({
        url,
        applicationName,
        prepared,
        queryTimeout,
        onFailure: (error) => pool.emit('failure', error),
        inspectError,
      }),
  });
  const db = knex({
    client: 'pg',
    connectionPool: pool,
    // With true, the messages of errors, and therefore the log, would contain the values of the statement.
    compileSqlOnError: false,
    log: { warn: () => {}, error: () => {}, deprecate: () => {}, debug: () => {} },
  });
  setPool(db, pool);
  // knex does not close a pool that it has not created.
  Object.defineProperty(db, 'destroy', { value: () => pool.destroy() });
  return db;
}

/**
 * Runs one statement with the placeholders $1, $2 … and returns its rows. `types` replaces the parsers of pg for the
 * values of columns. A query that knex builds costs six times as much CPU time.
 */
export function query<Row extends object>(
  db: Queryable,
  sql: string,
  values: readonly unknown[] = [],
  types?: TypeParsers,
): Promise<readonly Row[]> {
  const source = connectionSourceOf(db);
  return new Promise((resolve, reject) => {
    const run = (connection: Connection): void => {
      connection.send([[sql, values, types]], (error, results) => {
        source.release(connection);
        if (error) reject(error);
        else resolve((results[0]?.rows ?? []) as readonly Row[]);
      });
    };
    const idle = source.takeIdle();
    if (idle) run(idle);
    else source.acquire().promise.then(run, reject);
  });
}

/** Calls `listener` with the error of every statement and every connection of `db` that fails. */
export function onFailure(db: Database, listener: (error: unknown) => void): void {
  requirePool(db).on('failure', listener);
}

/**
 * Runs `work`, and once more if PostgreSQL has rolled its transaction back because of a deadlock or a serialization
 * failure.
 */
export async function retryOnce<T>(db: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isTransactionConflict(error)) throw error;
    findPool(db)?.emit('retry');
    return work();
  }
}

/** Adapts a database to libraries that expect a client of pg. `rowCount` is the number of returned rows. */
export function asPgClient(db: Database) {
  return {
    query: async ({ text, values = [] }: { text: string; values?: readonly unknown[] }) => {
      const rows = await query<object>(db, text, values);
      return { rows, rowCount: rows.length };
    },
  };
}
