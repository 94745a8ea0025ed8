// Connects a command to the database and closes the connection when the command has finished or failed.
import { connectDatabase, type Database, type DatabaseOptions } from './database/database.ts';
import { databaseCheck } from './http/readiness.ts';

/** In milliseconds. The statements of a command may take longer than those of a request. */
const queryTimeout = 120_000;

/** If `migrationsDirectory` is set, throws an error if this release cannot use the schema of the database. */
export async function withDatabase(options: DatabaseOptions, work: (db: Database) => Promise<void>): Promise<void> {
  const db = connectDatabase({ poolMax: 1, queryTimeout, ...options });
  try {
    if (options.migrationsDirectory !== undefined) await databaseCheck(db, options.migrationsDirectory)();
    await work(db);
  } finally {
    await db.destroy();
  }
}
