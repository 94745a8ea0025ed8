// Hands the PostgreSQL server from jest's global setup to its global teardown. Jest loads the two as separate module
// graphs, which share only the global object.
import type { EmbeddedPostgres } from '@bay-booking/postgres/server';

const holder = globalThis as { bayBookingTestServer?: EmbeddedPostgres };

export const serverOfThisRun = {
  get: () => holder.bayBookingTestServer,
  set: (server: EmbeddedPostgres) => {
    holder.bayBookingTestServer = server;
  },
};
