// Selects the faster writer: postgresWriter for a single PostgreSQL server, or distributedWriter for a Citus cluster.
// Checks again every few seconds, because the tables can be distributed while the service runs.
import type { Database } from '@bay-booking/service/database/database';
import { createCachedFlag } from '../../database/cached-flag.ts';
import { distributedWriter } from './distributed-writer.ts';
import { postgresWriter } from './postgres-writer.ts';
import type { BookingWriter } from './writer.ts';

/** Citus creates the table pg_dist_partition. Its presence shows that tables can be distributed. */
const distributedFlagSql = "select to_regclass('pg_dist_partition') is not null as flag";

/** Both writers are correct on every database. An outdated selection therefore only makes writes slower. */
export function createWriterSelection(db: Database): () => Promise<BookingWriter> {
  const flag = createCachedFlag(db, distributedFlagSql);
  return async () => ((await flag()) ? distributedWriter : postgresWriter);
}
