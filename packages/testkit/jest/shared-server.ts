// Stores the PostgreSQL server that jest's global setup starts, so that the global teardown can stop the server. Jest
// loads setup and teardown as separate module graphs, which share only the global object.
import type { EmbeddedPostgres } from '@bay-booking/postgres/server';

const holder = globalThis as { bayBookingTestServer?: EmbeddedPostgres };

export const serverOfThisRun = {
  get: () => holder.bayBookingTestServer,
  set: (server: EmbeddedPostgres) => {
    holder.bayBookingTestServer = server;
  },
};
