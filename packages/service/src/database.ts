// How do we talk to PostgreSQL? One bounded knex pool whose statements are prepared once per connection under a name (planning a
// booking search costs more than running it), with time-outs on every wait.
import { createHash } from 'node:crypto';
import knex, { type Knex } from 'knex';
import PostgresClient from 'knex/lib/dialects/postgres/index.js';

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

/** pg keeps a name for as long as its connection lives, so only this many texts get one. */
const namedTextsAtMost = 500;
const names = new Map<string, string>();

function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined) return known;
  if (names.size >= namedTextsAtMost) return undefined;
  const name = createHash('sha256').update(sql).digest('base64url').slice(0, 32);
  names.set(sql, name);
  return name;
}

interface Query {
  readonly sql: string;
  readonly bindings?: readonly unknown[];
  options?: object;
}

class PreparingClient extends PostgresClient {
  override _query(connection: unknown, query: Query): Promise<object> {
    const name = query.bindings?.length && !query.options ? nameOf(query.sql) : undefined;
    if (name) query.options = { name };
    return super._query(connection, query);
  }
}

export function connectDatabase(options: DatabaseOptions): Database {
  const { url, applicationName, poolMax = 10, prepared = true, queryTimeout = 8_000 } = options;
  return knex({
    client: (prepared ? PreparingClient : 'pg') as never,
    // Values of a failed statement stay out of its error's message, and so out of the log.
    compileSqlOnError: false,
    connection: {
      connectionString: url,
      application_name: applicationName,
      connectionTimeoutMillis: 2_000,
      query_timeout: queryTimeout,
      keepAlive: true,
    },
    pool: { min: 0, max: poolMax, acquireTimeoutMillis: 3_000, idleTimeoutMillis: 30_000 },
    acquireConnectionTimeout: 3_000,
    log: { warn: () => {}, error: () => {}, deprecate: () => {}, debug: () => {} },
  });
}

interface Connection {
  __knex__disposed?: unknown;
  readonly connection?: { readonly stream?: { destroy(): void } };
}

/**
 * Runs one constant statement written with $1, $2 …: a third of the cost of the query builder. `db` may be a transaction.
 * `sql` must hold no question mark.
 */
export async function query<Row extends object>(
  db: Database,
  sql: string,
  bindings: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const { client } = db;
  const connection: Connection = await client.acquireConnection();
  try {
    const { response } = await client.query(connection, { method: 'raw', sql, bindings });
    return response.rows;
  } catch (error) {
    // The answer may still come, and must not be taken for that of the next statement.
    if (Error.isError(error) && error.message.endsWith('Query read timeout')) {
      connection.__knex__disposed = error;
      connection.connection?.stream?.destroy();
    }
    throw error;
  } finally {
    await client.releaseConnection(connection);
  }
}

const passing = new Set([
  '40001',
  '40P01',
  '55P03',
  '57014',
  '25P03',
  '25006',
  // A server that lets nobody into the database for now, or does not know it (yet).
  '3D000',
  '55000',
  'XX000',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/** The SQLSTATE of a PostgreSQL error or the code of a network error, if `error` is either. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/**
 * Whether the database could not be asked, or could not answer now, so that the same request may succeed in a moment (503 with
 * Retry-After): connection trouble, time-outs, shutdowns, too many connections, lost lock races.
 */
export function isUnavailable(error: unknown): boolean {
  const code = errorCode(error);
  if (code !== undefined) return passing.has(code) || /^(08|28|53|57P)/.test(code);
  if (!Error.isError(error)) return false;
  return (
    error.name === 'KnexTimeoutError' ||
    error.name === 'TimeoutError' ||
    /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Unable to acquire a connection/.test(
      error.message,
    )
  );
}

/** The same work once more after a lost deadlock or serialization race, when nothing of the first try can have been kept. */
export async function retryOnce<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = errorCode(error);
    if (code !== '40P01' && code !== '40001') throw error;
    return work();
  }
}
