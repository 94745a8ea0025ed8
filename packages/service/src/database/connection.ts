// Implements a connection to PostgreSQL, which wraps a client of pg. The connection prepares statements, and limits how
// long they run.
import pg from 'pg';
import { Batch, type BatchCallback, type PreparedStatements, type TypeParsers } from './batch.ts';
import type { PooledConnection } from './pool.ts';
import { type InspectError, isSchemaRelated } from './schema-version.ts';

/**
 * SQL with the placeholders $1, $2 …, the values of the placeholders, and optionally the parsers of columns, which
 * replace those of pg.
 */
export type Statement = readonly [sql: string, values?: readonly unknown[], types?: TypeParsers | undefined];

export interface ConnectionOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly prepared: boolean;
  /** How long a statement may run, in ms. */
  readonly queryTimeout: number;
  readonly onFailure: (error: unknown) => void;
  readonly inspectError: InspectError | undefined;
}

interface KnexStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}
type KnexCallback = (error: Error | null, result: pg.QueryResult) => void;

export class Connection implements PooledConnection {
  inUse = false;
  idleSince = 0;
  readonly #client: pg.Client;
  readonly #options: ConnectionOptions;
  readonly #preparedStatements: PreparedStatements = new Map();
  /** When the current statement was sent, in ms of the monotonic clock. 0 while no statement is running. */
  #sentAt = 0;
  #lost = false;

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
      this.#lost = true;
    };
    client.on('error', onLost);
    client.once('end', onLost);
  }

  get isUsable(): boolean {
    return !this.#lost;
  }

  /** Sends the statements together. After a statement that fails, PostgreSQL skips the others. */
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
    void this.#client.query(batch as unknown as pg.Submittable);
  }

  /** Runs a statement of knex. knex calls this method as if the connection were a pg client. */
  query({ text, values }: KnexStatement, callback: KnexCallback): void {
    const name = this.#nameOf(text, values);
    // pg does not know the names that batches have prepared, and batches do not know the names of pg. The prefix makes
    // sure that the names differ.
    const config = { text, values: values as unknown[], ...(name !== undefined && { name: `knex_${name}` }) };
    this.#sentAt = performance.now();
    void this.#client.query(config, (error, result) => {
      this.#sentAt = 0;
      if (error) this.#fail(error, () => callback(error, result));
      else callback(error, result);
    });
  }

  /** Calls `report` after the error has been inspected. */
  #fail(error: unknown, report: () => void): void {
    const { onFailure, inspectError } = this.#options;
    onFailure(error);
    if (inspectError && isSchemaRelated(error)) void inspectError(error).then(report);
    else report();
  }

  /**
   * Closes the connection if its statement is overdue. The statement then fails. If the connection stayed open, the
   * late response could be mistaken for the response to the next statement.
   *
   * The option `query_timeout` of pg does not suit us: it leaves the connection open, and its timers keep objects of
   * requests in memory. The heap was 235 MB instead of 119 MB.
   */
  closeIfOverdue(now: number): void {
    if (this.#sentAt > 0 && now - this.#sentAt > this.#options.queryTimeout) void this.close();
  }

  /** Closes the connection. A statement that is still running fails. */
  close(): Promise<void> {
    return this.#client.end();
  }

  /** SQL without values is not prepared, because its text may be used only once. */
  #nameOf(sql: string, values: readonly unknown[]): string | undefined {
    return this.#options.prepared && values.length > 0 ? statementName(sql) : undefined;
  }
}

/**
 * The maximum number of statements that are prepared. PostgreSQL stores a prepared statement until the connection ends,
 * so without a limit, SQL with many variants would fill the memory of the server.
 */
const maxNames = 500;
const names = new Map<string, string>();

function statementName(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= maxNames) return known;
  const name = `s${names.size + 1}`;
  names.set(sql, name);
  return name;
}
