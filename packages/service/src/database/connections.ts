// What is a connection of ours? knex's, prepared statements and all, from a pool whose idle connections are had at once, and cut when
// an answer is overdue.
import { createHash } from 'node:crypto';
import PostgresClient from 'knex/lib/dialects/postgres/index.js';
import { Batch, type BatchStatement, type Settle, type TypeParsers } from './batch.ts';
import { Pool, type Pooled } from './pool.ts';

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
  options?: { name?: string; types?: TypeParsers };
}

/** What pg calls a client. */
export interface Connection extends Pooled {
  /** Of the statement that is being answered, by the monotonic clock; 0 while there is none. */
  askedAt?: number;
  readonly connection?: { readonly stream?: { destroy(): void } };
  /** Set by knex once it is of no use any more. */
  readonly __knex__disposed?: unknown;
  once(event: 'end', listener: () => void): void;
  query(batch: Batch): void;
}

/** Notes on each connection since when it waits; pg's own time-out would keep every request alive into the old generation of the heap. */
export class WatchedClient extends PostgresClient {
  override initializePool({
    pool: { max, opened },
  }: {
    pool: { max: number; opened: (connection: Connection) => void };
  }) {
    this.pool = new Pool<Connection>({
      max,
      open: async () => {
        const connection = (await this.acquireRawConnection()) as Connection;
        opened(connection);
        return connection;
      },
      close: (connection) => this.destroyRawConnection(connection),
      isUsable: ({ __knex__disposed }) => !__knex__disposed,
      waitAtMost: 3_000,
      idleAtMost: 30_000,
    });
  }

  override _query(connection: Connection, query: Query): Promise<object> {
    connection.askedAt = performance.now();
    const answer = super._query(connection, query);
    const answered = (): void => {
      connection.askedAt = 0;
    };
    answer.then(answered, answered);
    return answer;
  }
}

export class PreparingClient extends WatchedClient {
  override _query(connection: Connection, query: Query): Promise<object> {
    const name = query.bindings?.length && !query.options?.name ? nameOf(query.sql) : undefined;
    if (name) query.options = { ...query.options, name };
    return super._query(connection, query);
  }
}

/** Cuts connections whose answer is overdue, as it may still come and must not be taken for that of another statement. */
export function watchOver(limit: number): (connection: Connection) => void {
  const open = new Set<Connection>();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const overdue = performance.now() - limit;
    for (const { askedAt = 0, connection } of open) if (askedAt > 0 && askedAt < overdue) connection?.stream?.destroy();
  };
  return (connection) => {
    open.add(connection);
    timer ??= setInterval(look, Math.min(1_000, limit / 4)).unref();
    connection.once('end', () => {
      open.delete(connection);
      if (open.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
  };
}

export interface Client {
  /** Gone when the database has been closed. */
  readonly pool: Pool<Connection> | undefined;
  /** Of a knex transaction. */
  readonly transacting?: boolean;
  emit(event: 'query-error' | 'retry', error: unknown, query?: object): void;
  acquireConnection(): Promise<Connection>;
  query(connection: Connection, query: object): Promise<{ response: { rows: readonly object[] } }>;
}

/** SQL written with $1, $2 …, its values, and how to read what it answers where not as pg does. */
export type Statement = readonly [sql: string, values?: readonly unknown[], types?: TypeParsers | undefined];

/** What has no values may be a text made for once. */
const endsAndBeginnings = new Set(['begin', 'commit', 'rollback']);

/** knex prepares under the hash alone; the same text may come both ways. */
export function statementOf(client: Client, [sql, values = [], types]: Statement): BatchStatement {
  const worthIt = values.length > 0 || endsAndBeginnings.has(sql);
  const name = worthIt && client instanceof PreparingClient ? nameOf(sql) : undefined;
  return { sql, values, types, name: name && `b${name}` };
}

export function send(
  client: Client,
  connection: Connection,
  statements: readonly BatchStatement[],
  settle: Settle,
): void {
  connection.askedAt = performance.now();
  connection.query(
    new Batch(statements, (error, answers) => {
      connection.askedAt = 0;
      if (error) client.emit('query-error', error, {});
      settle(error, answers);
    }),
  );
}
