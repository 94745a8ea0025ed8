// Temporary: runs lists of statements in a transaction, until every caller uses `transaction`.
import { type Database, query, transaction } from '@bay-booking/service/database/database';

export type Statement = readonly [sql: string, values?: readonly unknown[]];
export type Run = <Rows extends readonly object[][]>(...statements: readonly Statement[]) => Promise<Rows>;

export function inTransaction<T>(db: Database, work: (run: Run) => Promise<T>): Promise<T> {
  return transaction(db, (tx) =>
    work(
      (...statements) =>
        Promise.all(statements.map(([sql, values]) => query(tx, sql, values))) as unknown as Promise<never>,
    ),
  );
}

export function retryOnce<T>(_db: Database, work: () => Promise<T>): Promise<T> {
  return work();
}
