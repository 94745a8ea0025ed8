// Jest loads set-up and teardown as two module graphs, so the server passes between them through the global object.
import type { EmbeddedPostgres } from '@bay-booking/postgres/server';

const holder = globalThis as { bayBookingTestServer?: EmbeddedPostgres };

export const serverOfThisRun = {
  get: () => holder.bayBookingTestServer,
  set: (server: EmbeddedPostgres) => {
    holder.bayBookingTestServer = server;
  },
};
