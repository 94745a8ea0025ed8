// Provides one PostgreSQL server for a whole jest run. TEST_DATABASE_URL can name an existing server, whose user must
// be allowed to create databases. Without TEST_DATABASE_URL, an embedded server starts in a temporary folder. A
// watchdog stops the embedded server even if the run is killed.
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { serverOfThisRun } from './shared-server.ts';

export default async function startServer(): Promise<void> {
  if (process.env.TEST_DATABASE_URL) return;
  const server = await startEmbeddedPostgres({
    // Tests do not need their data after a crash of the machine, and are faster without fsync.
    fsync: false,
    // Several test files run at the same time, and many tests cause errors in PostgreSQL on purpose.
    settings: { max_connections: 200, log_min_messages: 'fatal' },
  });
  serverOfThisRun.set(server);
  // Jest starts its worker processes after this function, so they inherit the variable.
  process.env.TEST_DATABASE_URL = server.url;
}
