// Connects to PostgreSQL, runs statements and transactions, and logs when the database becomes unavailable.
import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import knex, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../logging.ts';
import { errorCode, isConnectionError, isOutage, isTransactionConflict } from './errors.ts';
import { createErrorInspector, type InspectError, isSchemaRelated } from './schema-version.ts';

export { errorCode, isUnavailable, markAsUnavailable } from './errors.ts';

/** Converts a column's string to a JavaScript value, depending on the column's type. */
export type TypeParsers = pg.CustomTypesConfig;

export interface DatabaseOptions {
  /**
   * The parameter `prepared=false` is for a PgBouncer older than 1.21 in transaction mode, which does not support
   * prepared statements.
   */
  readonly url: string;
  readonly applicationName: string;
  /** The maximum number of connections. All instances together should use twice as many as the server has CPU cores. */
  readonly poolMax?: number;
  /**
   * The maximum time in ms without an answer to a statement. The connection is then closed. The database role's
   * `statement_timeout` should be shorter.
   */
  readonly queryTimeout?: number;
  /** Default: the parsers of pg. */
  readonly types?: TypeParsers;
  /** The service's migrations. If set, `isUnavailable` is true for errors that another schema causes. */
  readonly migrationsDirectory?: string;
}

interface Events {
  /** A statement or a connection failed. */
  failure: [error: unknown];
  /** PostgreSQL ran a statement. */
  success: [];
  /** A transaction runs again after a deadlock or a serialization failure. */
  retry: [];
}

interface Connections {
  readonly pool: pg.Pool;
  readonly events: EventEmitter<Events>;
  readonly prepared: boolean;
  readonly inspectError: InspectError | undefined;
}

/** A connection pool and knex's query builder over the same pool. */
export type Database = Knex & { readonly connections: Connections };

export interface Transaction {
  readonly db: Database;
  readonly client: pg.PoolClient;
  /** Statements that `send` has started and nobody awaits yet. */
  readonly sent: Promise<unknown>[];
  /** The error of the first statement that has failed. */
  failure?: Promise<unknown>;
}

export type Queryable = Database | Transaction;

/**
 * A connection that closes if the server does not answer. Its socket has one timer, which each answer starts again. The
 * option `query_timeout` of pg creates a timer for each statement, which takes 7 % of the CPU time of a GET.
 */
class WatchedClient extends pg.Client {
  isUsed = true;
  readonly #socket: Socket;

  constructor(config?: pg.ClientConfig) {
    const socket = new Socket();
    super({ ...config, stream: () => socket });
    this.#socket = socket;
  }

  /**
   * Sends the statements of one turn of the event loop with one system call. The service then takes about a fifth less
   * CPU time for a create, which has five statements.
   */
  cork(): void {
    if (this.#socket.writableCorked > 0) return;
    this.#socket.cork();
    process.nextTick(() => this.#socket.uncork());
  }

  watch(timeout: number): void {
    this.#socket.setTimeout(timeout, () => {
      if (this.isUsed) this.#socket.destroy(new Error('Connection terminated after the timeout of a statement'));
    });
  }
}

const watched = (client: pg.PoolClient): WatchedClient => client as unknown as WatchedClient;

export function connectDatabase(options: DatabaseOptions): Database {
  const { url, applicationName, poolMax = 10, queryTimeout = 8_000, types } = options;
  const { migrationsDirectory } = options;
  const prepared = new URL(url).searchParams.get('prepared') !== 'false';
  const events = new EventEmitter<Events>();
  const pool = new pg.Pool({
    connectionString: url,
    application_name: applicationName,
    max: poolMax,
    connectionTimeoutMillis: 3_000,
    // A timer for each release would take 4 % of the CPU time of a GET. Firewalls drop connections that are idle for
    // long, so each connection is replaced after a while.
    idleTimeoutMillis: 0,
    maxLifetimeSeconds: 300,
    Client: WatchedClient,
    keepAlive: true,
    pipeline: true,
    ...(types && { types }),
  });
  pool.on('error', (error) => events.emit('failure', error));
  // If a connection in use is lost and has no listener, the process ends. The connection's statements fail too.
  pool.on('connect', (client) => {
    client.on('error', () => {});
    watched(client).watch(queryTimeout);
  });
  pool.on('acquire', (client) => {
    watched(client).isUsed = true;
  });
  pool.on('release', (_error, client) => {
    watched(client).isUsed = false;
  });
  const builder = knex({
    client: 'pg',
    connectionPool: pool,
    // If this option were true, error messages and the log would contain the statement's values.
    compileSqlOnError: false,
    // By default, knex writes messages to the console.
    log: { warn: () => {}, error: () => {}, deprecate: () => {}, debug: () => {} },
  });
  const inspectError = migrationsDirectory === undefined ? undefined : createErrorInspector(url, migrationsDirectory);
  // knex closes only pools that it has created.
  Object.defineProperty(builder, 'destroy', { value: () => (pool.ended || pool.ending ? undefined : pool.end()) });
  return Object.assign(builder, { connections: { pool, events, prepared, inspectError } });
}

/** Runs one statement with placeholders such as $1 and returns its rows. */
export async function query<Row extends object>(on: Queryable, sql: string, values: readonly unknown[] = []) {
  if ('sent' in on) return run<Row>(on, sql, values);
  const client = await connect(on);
  let isBroken = false;
  try {
    return await run<Row>({ db: on, client }, sql, values);
  } catch (error) {
    isBroken = isConnectionError(error);
    throw error;
  } finally {
    client.release(isBroken);
  }
}

/** Runs a statement and returns its first row, or undefined if it has none. */
export const queryOne = async <Row extends object>(on: Queryable, sql: string, values: readonly unknown[] = []) =>
  (await query<Row>(on, sql, values))[0];

/**
 * Sends a statement whose result the transaction does not need. `transaction` awaits it with the commit and fails if
 * the statement fails.
 */
export function send(tx: Transaction, sql: string, values: readonly unknown[] = []): void {
  const sent = run(tx, sql, values);
  // `transaction` handles the error.
  sent.catch(() => {});
  tx.sent.push(sent);
}

/** Thrown inside a transaction to roll it back. `transaction` then returns `result`. */
export class Rollback<T> extends Error {
  readonly result: T;
  constructor(result: T) {
    super('rolled back');
    this.result = result;
  }
}

/**
 * Runs `work` in a transaction and returns its result. Statements that `Promise.all` or `send` starts together are sent
 * without waiting for each other. After a deadlock or a serialization failure, `work` runs once more.
 *
 * @throws {Error} the error of `work`, of a statement or of the commit. If the connection is lost during the commit,
 * nobody knows whether the transaction was committed.
 */
export async function transaction<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  try {
    return await attempt(db, work);
  } catch (error) {
    if (!isTransactionConflict(error)) throw error;
    db.connections.events.emit('retry');
    return attempt(db, work);
  }
}

async function attempt<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const client = await connect(db);
  const tx: Transaction = { db, client, sent: [] };
  let isBroken = false;
  try {
    send(tx, 'begin');
    const result = await work(tx);
    const commit = execute(client, { text: 'commit' });
    await Promise.all([...tx.sent, commit]);
    // If a statement failed, PostgreSQL answers `commit` with a rollback.
    if ((await commit).command !== 'COMMIT') throw new Error('the transaction had failed before its end');
    return result;
  } catch (error) {
    isBroken = isConnectionError(error);
    if (!isBroken) {
      await execute(client, { text: 'rollback' }).catch(() => {
        isBroken = true;
      });
    }
    // PostgreSQL also rolls back if the connection is lost.
    if (error instanceof Rollback) return error.result as T;
    throw error;
  } finally {
    client.release(isBroken);
  }
}

async function connect(db: Database): Promise<pg.PoolClient> {
  try {
    // A callback, for the same reason as in `execute`.
    return await new Promise((resolve, reject) => {
      db.connections.pool.connect((error, client) => (client ? resolve(client) : reject(error)));
    });
  } catch (error) {
    db.connections.events.emit('failure', error);
    throw error;
  }
}

/**
 * Calls pg with a callback. With the promises of pg, finished requests keep later ones in memory until a full garbage
 * collection, and a search takes 1.6 times as much CPU time.
 */
function execute<Row extends object>(client: pg.PoolClient, config: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
  watched(client).cork();
  return new Promise((resolve, reject) => {
    void client.query<Row>(config, (error, result) => (error ? reject(error) : resolve(result)));
  });
}

/** PostgreSQL reports this SQLSTATE for every statement after the one that failed its transaction. */
const inFailedTransaction = '25P02';

async function run<Row extends object>(
  on: Pick<Transaction, 'db' | 'client' | 'failure'>,
  sql: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const { events, prepared, inspectError } = on.db.connections;
  // SQL without values is often used only once, so it is not prepared.
  const name = prepared && values.length > 0 ? statementName(sql) : undefined;
  try {
    const config = { text: sql, values: values as unknown[], ...(name && { name }) };
    const { rows } = await execute<Row>(on.client, config);
    events.emit('success');
    return rows;
  } catch (error) {
    // The stack of pg leads to the socket and not to the caller.
    if (Error.isError(error)) Error.captureStackTrace(error);
    if (errorCode(error) !== inFailedTransaction) events.emit('failure', error);
    const inspected = async (): Promise<unknown> => {
      if (inspectError && isSchemaRelated(error)) await inspectError(error);
      return error;
    };
    // PostgreSQL ignores the statements after a failed one. Of statements that were sent together, the caller may see
    // an ignored one first, so each rejects with the cause.
    on.failure ??= inspected();
    throw await on.failure;
  }
}

/** PostgreSQL stores prepared statements until the connection ends. SQL with many variants would fill its memory. */
const maxPreparedStatements = 500;
const statementNames = new Map<string, string>();

function statementName(sql: string): string | undefined {
  const existing = statementNames.get(sql);
  if (existing !== undefined || statementNames.size >= maxPreparedStatements) return existing;
  const name = `s${statementNames.size + 1}`;
  statementNames.set(sql, name);
  return name;
}

/** Adapts a database to libraries that expect a pg client. Statements are prepared only if `prepared` is true. */
export function asPgClient(on: Queryable) {
  return {
    query: async ({ text, values = [] }: { readonly text: string; readonly values?: readonly unknown[] }) => {
      const rows = await query<object>(on, text, values);
      return { rows, rowCount: rows.length };
    },
  };
}

/** JSON.stringify writes a NUL character as this escape sequence. */
const escapedNul = '\\u0000';

/** Removes NUL characters from strings: request parameters may contain them, but PostgreSQL cannot store them. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes(escapedNul)) return text;
  return JSON.stringify(value, (_key, entry) => (typeof entry === 'string' ? entry.replaceAll('\0', '') : entry));
}

const outageLineMs = 60_000;

/**
 * During an outage, writes one line per minute with the number of failures. The line of each failed request has its own
 * cause.
 */
export function logOutages({ connections: { events } }: Database, logger: Logger): void {
  let lastLineAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let isAnnounced = false;
  events.on('failure', (err) => {
    if (!isOutage(err)) return;
    failures += 1;
    if (performance.now() - lastLineAt < outageLineMs) return;
    lastLineAt = performance.now();
    isAnnounced = true;
    logger.error({ err, failures }, 'database unavailable');
    failures = 0;
  });
  events.on('success', () => {
    if (!isAnnounced) return;
    isAnnounced = false;
    logger.info({ failures }, 'database available again');
  });
}
