// Selects the writer that suits the database: at the first write, and again within seconds after the tables of the
// database were distributed.
import type { Database } from '@bay-booking/service/database/database';
import { createCachedFlag } from '../../database/cached-flag.ts';
import { distributedWriter } from './distributed-writer.ts';
import { postgresWriter } from './postgres-writer.ts';
import type { BookingWriter } from './writer.ts';

/** Citus creates this table. Its presence shows that tables can be distributed. */
const isDistributed = "select to_regclass('pg_dist_partition') is not null as flag";

/** Both writers are correct on every database. Changing the writer late therefore only costs speed. */
export function createWriterSelection(db: Database): () => Promise<BookingWriter> {
  const flag = createCachedFlag(db, isDistributed);
  return async () => ((await flag()) ? distributedWriter : postgresWriter);
}
