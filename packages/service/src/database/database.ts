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
   * The maximum number of connections. Default: 10. All instances of a service together should have twice as many
   * connections as the database server has CPU cores.
   */
  readonly poolMax?: number;
  /**
   * Whether statements are prepared. Default: true. Must be false behind a PgBouncer older than 1.21 in transaction
   * mode, which does not support prepared statements.
   */
  readonly prepared?: boolean;
  /**
   * How long one statement may take, in ms. Default: 8000. The `statement_timeout` of the database role should be
   * shorter, so that PostgreSQL cancels the statement before this client closes the connection.
   */
  readonly queryTimeout?: number;
  /**
   * The folder of the service's migrations. If the folder is given, `isUnavailable` returns true for errors that occur
   * because the schema of the database does not fit this release.
   */
  readonly migrationsDirectory?: string;
}

export function connectDatabase(options: DatabaseOptions): Database {
  const { url, applicationName, poolMax = 10, prepared = true, queryTimeout = 8_000, migrationsDirectory } = options;
  const inspectError = migrationsDirectory === undefined ? undefined : createErrorInspector(url, migrationsDirectory);
  const pool: Pool<Connection> = new Pool({
    max: poolMax,
    acquireTimeoutMs: 3_000,
    idleTimeoutMs: 30_000,
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
    // If this option were true, error messages and therefore the log would contain the values of the statement.
    compileSqlOnError: false,
    // By default, knex writes messages to the console.
    log: { warn: () => {}, error: () => {}, deprecate: () => {}, debug: () => {} },
  });
  setPool(db, pool);
  // knex does not close a pool that it has not created.
  Object.defineProperty(db, 'destroy', { value: () => pool.destroy() });
  return db;
}

/**
 * Runs one statement with placeholders such as $1 and returns its rows. `types` are the parsers of the columns, by
 * default those of pg. The same query takes six times as much CPU time with the query builder of knex.
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
    // Taking an idle connection synchronously saves a promise for each query.
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
 * Runs `work`, and runs it a second time if PostgreSQL has rolled its transaction back because of a deadlock or a
 * serialization failure.
 */
export async function retryOnce<T>(db: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isTransactionConflict(error)) throw error;
    // The metrics count this event. A transaction of knex has no pool and emits no event.
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
