// One PostgreSQL server for a whole jest run: the one in TEST_DATABASE_URL (an address with the right to create databases), else an
// embedded one in a temporary folder, which ends with the run however the run ends.
import { startEmbeddedPostgres } from '@bay-booking/postgres/server';
import { serverOfThisRun } from './shared-server.ts';

export default async function startServer(): Promise<void> {
  if (process.env.TEST_DATABASE_URL) return;
  const server = await startEmbeddedPostgres({
    fsync: false,
    settings: { max_connections: 200, log_min_messages: 'fatal' },
  });
  serverOfThisRun.set(server);
  // Workers are forked later and inherit it.
  process.env.TEST_DATABASE_URL = server.url;
}
