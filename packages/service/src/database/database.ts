// How do we talk to PostgreSQL? One bounded knex pool whose statements are prepared once per connection under a name (planning a
// booking search costs more than running it), with time-outs on every wait.
import knex, { type Knex } from 'knex';
import type { TypeParsers } from './batch.ts';
import {
  type Client,
  type Connection,
  PreparingClient,
  send,
  statementOf,
  WatchedClient,
  watchOver,
} from './connections.ts';
import { errorCode, lostRaces } from './errors.ts';
import { closed } from './pool.ts';

export { errorCode, isUnavailable } from './errors.ts';
export { jsonText } from './json.ts';
export { collectDatabaseMetrics } from './metrics.ts';

export type Database = Knex;

export interface DatabaseOptions {
  readonly url: string;
  readonly applicationName: string;
  /** Connections at most; about twice the database's cores, over all instances, serve best. */
  readonly poolMax?: number;
  /** `false` behind a PgBouncer older than 1.21 in transaction mode, which loses prepared statements. */
  readonly prepared?: boolean;
  /** Milliseconds that one statement may take before the client gives up; the role's `statement_timeout` should be a little less. */
  readonly queryTimeout?: number;
}

export function connectDatabase(options: DatabaseOptions): Database {
  const { url, applicationName, poolMax = 10, prepared = true, queryTimeout = 8_000 } = options;
  return knex({
    client: (prepared ? PreparingClient : WatchedClient) as never,
    // Values of a failed statement stay out of its error's message, and so out of the log.
    compileSqlOnError: false,
    connection: {
      connectionString: url,
      application_name: applicationName,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    },
    pool: { max: poolMax, opened: watchOver(queryTimeout) } as never,
    log: { warn: () => {}, error: () => {}, deprecate: () => {}, debug: () => {} },
  });
}

/**
 * Runs one constant statement written with $1, $2 …: a sixth of the cost of the query builder. `db` may be a transaction of knex.
 * `types` reads columns otherwise than pg does.
 */
export function query<Row extends object>(
  db: Database,
  sql: string,
  values: readonly unknown[] = [],
  types?: TypeParsers,
): Promise<readonly Row[]> {
  const client: Client = db.client;
  if (client.transacting) return queryOfKnex(client, sql, values, types);
  const { pool } = client;
  if (!pool) return Promise.reject(closed());
  const statement = statementOf(client, [sql, values, types]);
  return new Promise((resolve, reject) => {
    const run = (connection: Connection): void => {
      send(client, connection, [statement], (error, answers) => {
        pool.release(connection);
        if (error) reject(error);
        else resolve((answers[0]?.rows ?? []) as readonly Row[]);
      });
    };
    const idle = pool.take();
    if (idle) run(idle);
    else pool.acquire().promise.then(run, reject);
  });
}

async function queryOfKnex<Row extends object>(
  client: Client,
  sql: string,
  bindings: readonly unknown[],
  types: TypeParsers | undefined,
): Promise<readonly Row[]> {
  const connection = await client.acquireConnection();
  const { response } = await client.query(connection, {
    method: 'raw',
    sql,
    bindings,
    ...(types && { options: { types } }),
  });
  return response.rows as readonly Row[];
}

/** Runs several constant statements sent in one message; the rows of the last. */
export async function queryAll<Row extends object>(db: Database, sql: readonly string[]): Promise<readonly Row[]> {
  const { client } = db;
  const connection: Connection = await client.acquireConnection();
  try {
    const { response } = await client.query(connection, { method: 'raw', sql: sql.join(';\n') });
    return response.at(-1).rows;
  } finally {
    await client.releaseConnection(connection);
  }
}

/** One connection of `db`, for statements of `query` that must meet the same server and transaction. Whoever takes it gives it back. */
export async function takeConnection(db: Database): Promise<{ readonly db: Database; readonly release: () => void }> {
  const client: Client & object = db.client;
  const connection = await client.acquireConnection();
  const pool = {
    take: () => connection,
    acquire: () => ({ promise: Promise.resolve(connection) }),
    release: () => true,
  };
  return {
    db: { client: Object.create(client, { pool: { value: pool } }) } as Database,
    release: () => void client.pool?.release(connection),
  };
}

/**
 * The database as libraries know it that want a pg client. They name the statements that they prepare; here ours are named, or none is
 * where a pooler would lose them. `rowCount` is that of the rows answered.
 */
export const asPgClient = (db: Database) => ({
  query: async ({ text, values = [] }: { text: string; values?: readonly unknown[] }) => {
    const rows = await query<object>(db, text, values);
    return { rows, rowCount: rows.length };
  },
});

/** The same work once more after a lost deadlock or serialization race, when nothing of the first try can have been kept. */
export async function retryOnce<T>(db: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!lostRaces.has(errorCode(error) ?? '')) throw error;
    (db.client as Client).emit('retry', error);
    return work();
  }
}
