// How do several statements succeed or fail as one? A transaction whose statements are known beforehand travels in batches: a third of the
// round trips of one that asks and waits, and a fraction of what knex's cost in memory.
import type { Answered } from './batch.ts';
import { type Client, type Statement, send, statementOf } from './connections.ts';
import { type Database, query } from './database.ts';
import { closed } from './pool.ts';

export type { Statement } from './connections.ts';

/** Sends statements together and resolves to the rows of each; after one that fails the others are not run. */
export type Run = <Rows extends readonly object[][]>(...asked: readonly Statement[]) => Promise<Rows>;

/**
 * A transaction of statements that are known beforehand: its begin travels with the first of them, so that it takes two round trips. What
 * `work` throws undoes it; the error of its commit leaves open whether it was done. Within a transaction of knex it is a savepoint.
 */
export async function inTransaction<T>(db: Database, work: (run: Run) => Promise<T>): Promise<T> {
  const client: Client = db.client;
  if (client.transacting) return withinKnex(db, work);
  const { pool } = client;
  if (!pool) throw closed();
  const connection = pool.take() ?? (await pool.acquire().promise);
  let begun = false;
  let broken = false;
  const sendAll = (asked: readonly Statement[]): Promise<readonly Answered[]> =>
    new Promise((resolve, reject) => {
      const statements = asked.map((one) => statementOf(client, one));
      send(client, connection, statements, (error, answers) => (error ? reject(error) : resolve(answers)));
    });
  const run = async (...asked: readonly Statement[]): Promise<never> => {
    const first = !begun;
    begun = true;
    const answers = await sendAll(first ? [['begin'], ...asked] : asked);
    return answers.slice(first ? 1 : 0).map(({ rows }) => rows) as never;
  };
  try {
    const result = await work(run);
    const [done] = await sendAll([['commit']]);
    // What failed and was not thrown on has undone all of it.
    if (done?.command !== 'COMMIT') throw new Error('the transaction had failed before its end');
    return result;
  } catch (error) {
    await sendAll([['rollback']]).catch(() => {
      broken = true;
    });
    throw error;
  } finally {
    pool.release(connection, broken);
  }
}

function withinKnex<T>(db: Database, work: (run: Run) => Promise<T>): Promise<T> {
  return db.transaction((inner) =>
    work(async (...asked) => {
      const answers: (readonly object[])[] = [];
      for (const [sql, values, types] of asked) answers.push(await query(inner, sql, values, types));
      return answers as never;
    }),
  );
}
