// Finds the connections on which the statements of a database or of a transaction run.
import type { Knex } from 'knex';
import type { Connection } from './connection.ts';
import type { Pool } from './pool.ts';

/**
 * A database. The query builder and the transactions of knex work with it. The functions `query` (database.ts) and
 * `inTransaction` (transaction.ts) also work with it, and run SQL faster than knex does.
 */
export type Database = Knex;

/**
 * Provides connections, which the caller must release. `takeIdle` returns a connection that is immediately available,
 * and `acquire` waits for a connection. The class Pool implements this interface. knex uses a Pool too, and requires
 * that `acquire` returns the promise in an object.
 */
export interface ConnectionSource {
  takeIdle(): Connection | undefined;
  acquire(): { readonly promise: Promise<Connection> };
  release(connection: Connection): void;
}

/** Provides the connection of a transaction. The code that has begun the transaction releases the connection. */
export class ReservedConnection implements ConnectionSource {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  takeIdle(): Connection {
    return this.#connection;
  }

  acquire(): { readonly promise: Promise<Connection> } {
    return { promise: Promise.resolve(this.#connection) };
  }

  release(): void {}
}

/** The objects that `query` accepts: a database, a transaction of knex, and the `db` of a read-only transaction. */
export type Queryable = Database | ReservedConnection;

const pools = new WeakMap<Database, Pool<Connection>>();

export function setPool(db: Database, pool: Pool<Connection>): void {
  pools.set(db, pool);
}

/** Returns the pool of a database, or undefined if `db` is a transaction of knex. */
export function findPool(db: Database): Pool<Connection> | undefined {
  return pools.get(db);
}

/**
 * Returns the pool of a database.
 * @throws {Error} if `db` is a transaction of knex
 */
export function requirePool(db: Database): Pool<Connection> {
  const pool = pools.get(db);
  if (!pool) throw new Error('a database is needed here, not a transaction');
  return pool;
}

/**
 * Returns the connection of a transaction of knex.
 * @throws {Error} if the transaction has ended, because another transaction may already use the connection
 */
export async function connectionOf(transaction: Database): Promise<Connection> {
  if ((transaction as Knex.Transaction).isCompleted()) throw new Error('the transaction has already ended');
  return transaction.client.acquireConnection();
}

/**
 * Returns the pool of a database, or a source that provides the connection of a transaction of knex. A
 * ReservedConnection is already a source.
 */
export function connectionSourceOf(db: Queryable): ConnectionSource {
  if (db instanceof ReservedConnection) return db;
  return (
    pools.get(db) ?? {
      takeIdle: () => undefined,
      acquire: () => ({ promise: connectionOf(db) }),
      release: () => {},
    }
  );
}
