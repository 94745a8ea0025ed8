// Starts both services for the tests of packages/client, and creates clients of the Bookings API.
import { type BookingsClientOptions, createBookingsClient } from '@bay-booking/client';
import { freePort } from '@bay-booking/postgres/ports';
import { useFixture } from '@bay-booking/testkit/fixture';
import { startTestSystem } from './test-system.ts';
import { webhookEnvironment } from './webhook-receiver.ts';

/** Starts both services before the tests of a file, and stops them after the tests. */
export const useClientSystem = () => useFixture(startClientSystem);

/** The personal access token of North Range, a facility of the demo. */
export const northToken = { clientId: 'demo-pat-north', clientSecret: 'demo-pat-north-secret' };

async function startClientSystem() {
  const system = await startTestSystem();
  const port = await freePort();
  const baseUrl = `http://localhost:${port}`;
  const startAuth = () => system.startAuth({ BOOKINGS_AUDIENCE: baseUrl });
  const auth = await startAuth();
  const startBookings = () => system.startBookings({ BASE_URL: baseUrl, ...webhookEnvironment }, { port });
  let bookings = await startBookings();
  return {
    database: system.database,
    auth,
    /** Starts auth again at the same address, after a test has stopped it. */
    restartAuth: async () => {
      await startAuth();
    },
    /** The address of bookings. */
    baseUrl,
    /** Creates a client of the Bookings API. By default, the client uses the personal access token of North Range. */
    createClient: (options?: Partial<BookingsClientOptions>) =>
      createBookingsClient({ baseUrl, auth: northToken, ...options }),
    stopBookings: async (signal: 'SIGTERM' | 'SIGKILL') => {
      await bookings.stop(signal);
    },
    /** Starts bookings again at the same address, after `stopBookings`. */
    restartBookings: async () => {
      bookings = await startBookings();
    },
    close: system.close,
  };
}

const firstStart = Date.UTC(2041, 0, 1);
const minuteMs = 60_000;
let bookingCount = 0;

/** Returns a booking of 30 minutes for a bay that is always open. Each call chooses a later time. */
export function newBooking() {
  const start = firstStart + bookingCount++ * 60 * minuteMs;
  return {
    bayId: 'bay-n2-01',
    userAlias: 'Ada',
    startDate: new Date(start).toISOString(),
    endDate: new Date(start + 30 * minuteMs).toISOString(),
  };
}
