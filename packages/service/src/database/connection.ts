// Implements a connection to PostgreSQL, which wraps a client of pg. The connection prepares statements, and limits how
// long they run.
import pg from 'pg';
import { Batch, type BatchCallback, type PreparedStatements, type TypeParsers } from './batch.ts';
import type { PooledConnection } from './pool.ts';
import { type InspectError, isSchemaRelated } from './schema-version.ts';

/** SQL with placeholders such as $1, the values of the placeholders, and the parsers of the columns. */
export type Statement = readonly [sql: string, values?: readonly unknown[], types?: TypeParsers | undefined];

export interface ConnectionOptions {
  readonly url: string;
  readonly applicationName: string;
  /** Whether statements are prepared. */
  readonly prepared: boolean;
  /** How long a statement may run, in ms. */
  readonly queryTimeout: number;
  /** Called with the error of every statement that fails. */
  readonly onFailure: (error: unknown) => void;
  /** Called with errors whose cause may be a schema that does not fit this release. */
  readonly inspectError: InspectError | undefined;
}

interface KnexStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}
type KnexCallback = (error: Error | null, result: pg.QueryResult) => void;

export class Connection implements PooledConnection {
  // The pool sets these two fields. `idleSince` is in ms of the monotonic clock.
  inUse = false;
  idleSince = 0;
  readonly #client: pg.Client;
  readonly #options: ConnectionOptions;
  readonly #preparedStatements: PreparedStatements = new Map();
  /** When the current statement was sent, in ms of the monotonic clock. 0 while no statement is running. */
  #sentAt = 0;
  #isLost = false;

  static async open(options: ConnectionOptions): Promise<Connection> {
    const client = new pg.Client({
      connectionString: options.url,
      application_name: options.applicationName,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    });
    const connection = new Connection(client, options);
    await client.connect();
    return connection;
  }

  private constructor(client: pg.Client, options: ConnectionOptions) {
    this.#client = client;
    this.#options = options;
    const onLost = (): void => {
      this.#isLost = true;
    };
    client.on('error', onLost);
    client.once('end', onLost);
  }

  get isUsable(): boolean {
    return !this.#isLost;
  }

  /** Sends the statements together. If a statement fails, PostgreSQL does not execute the later ones. */
  send(statements: readonly Statement[], callback: BatchCallback): void {
    this.#sentAt = performance.now();
    const batch = new Batch(
      statements.map(([sql, values = [], types]) => ({ sql, values, types, name: this.#nameOf(sql, values) })),
      this.#preparedStatements,
      (error, results) => {
        this.#sentAt = 0;
        if (error) this.#fail(error, () => callback(error, results));
        else callback(error, results);
      },
    );
    // `Batch` implements the methods of a query object that pg calls. The types of pg require further methods.
    void this.#client.query(batch as unknown as pg.Submittable);
  }

  /** Runs a statement of knex. knex calls this method as if the connection were a pg client. */
  query({ text, values }: KnexStatement, callback: KnexCallback): void {
    const name = this.#nameOf(text, values);
    // pg and the class Batch prepare statements on this connection, and neither knows the statements of the other. With
    // the prefix, the two never use the same name.
    const config = { text, values: values as unknown[], ...(name !== undefined && { name: `knex_${name}` }) };
    this.#sentAt = performance.now();
    void this.#client.query(config, (error, result) => {
      this.#sentAt = 0;
      if (error) this.#fail(error, () => callback(error, result));
      else callback(error, result);
    });
  }

  /** Calls `report`. If the schema may have caused the error, first waits until `inspectError` has checked this. */
  #fail(error: unknown, report: () => void): void {
    const { onFailure, inspectError } = this.#options;
    onFailure(error);
    if (inspectError && isSchemaRelated(error)) void inspectError(error).then(report);
    else report();
  }

  /**
   * Closes the connection if its statement has run for longer than the query timeout. The statement then fails. If the
   * connection stayed open, the late response could be mistaken for the response to the next statement.
   *
   * The option `query_timeout` of pg is not used. It leaves the connection open, and its timers keep objects of
   * requests in memory: the heap had 235 MB instead of 119 MB.
   */
  closeIfOverdue(now: number): void {
    if (this.#sentAt > 0 && now - this.#sentAt > this.#options.queryTimeout) void this.close();
  }

  /** Closes the connection. A statement that is still running fails. */
  close(): Promise<void> {
    return this.#client.end();
  }

  /**
   * Returns the name with which a statement is prepared. Returns undefined if it is not prepared: the option `prepared`
   * is false, too many statements are prepared, or the statement has no bind values. The text of a statement without
   * bind values may itself contain values. Such a text is often used only once.
   */
  #nameOf(sql: string, values: readonly unknown[]): string | undefined {
    return this.#options.prepared && values.length > 0 ? statementName(sql) : undefined;
  }
}

/**
 * The maximum number of statements that are prepared. PostgreSQL stores a prepared statement until the connection ends.
 * Without a limit, SQL with many variants would fill the memory of the server.
 */
const maxPreparedStatements = 500;
/** The names of the prepared statements, by their SQL. A statement has the same name on all connections. */
const statementNames = new Map<string, string>();

function statementName(sql: string): string | undefined {
  const existing = statementNames.get(sql);
  if (existing !== undefined || statementNames.size >= maxPreparedStatements) return existing;
  const name = `s${statementNames.size + 1}`;
  statementNames.set(sql, name);
  return name;
}
