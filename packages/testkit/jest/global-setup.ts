// Provides one PostgreSQL server for a whole jest run. TEST_DATABASE_URL can name an existing one (its user must be
// allowed to create databases); otherwise an embedded server starts in a temporary folder. A watchdog stops that server
// even if the run is killed.
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { serverOfThisRun } from './shared-server.ts';

export default async function startServer(): Promise<void> {
  if (process.env.TEST_DATABASE_URL) return;
  const server = await startEmbeddedPostgres({
    fsync: false,
    settings: { max_connections: 200, log_min_messages: 'fatal' },
  });
  serverOfThisRun.set(server);
  // Jest forks its workers later, so they inherit this variable.
  process.env.TEST_DATABASE_URL = server.url;
}
