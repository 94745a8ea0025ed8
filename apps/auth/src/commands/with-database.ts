// Connects a command to the database, and closes the connection when the command has finished or failed.
import { connectDatabase, type Database } from '@bay-booking/service/database/database';

/** In milliseconds. The statements of a command may take longer than those of a request. */
const queryTimeout = 60_000;

/** `applicationName` is the name of the connection in PostgreSQL's list of connections. */
export async function withDatabase(
  { url, applicationName }: { readonly url: string; readonly applicationName: string },
  work: (db: Database) => Promise<void>,
): Promise<void> {
  const db = connectDatabase({ url, applicationName, poolMax: 1, queryTimeout });
  try {
    await work(db);
  } finally {
    await db.destroy();
  }
}
