// Starts both services for the tests of packages/client, and creates clients of the Bookings API.

import { type BookingsClient, type BookingsClientOptions, createBookingsClient } from '@bay-booking/client';
import { freePorts } from '@bay-booking/postgres/ports';
import type { Instance } from './instance.ts';
import { startTestSystem, type TestSystem } from './test-system.ts';

export interface ClientSystem {
  readonly system: TestSystem;
  readonly auth: Instance;
  /** Starts auth again, at the same address. */
  readonly startAuth: () => Promise<void>;
  readonly baseUrl: string;
  /** Creates a client with a personal access token of the demo facility North Range. */
  readonly createClient: (options?: Partial<BookingsClientOptions>) => BookingsClient;
  readonly stopBookings: (signal: 'SIGTERM' | 'SIGKILL') => Promise<void>;
  /** Starts bookings again, at the same address. */
  readonly startBookings: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export const northToken = { clientId: 'demo-pat-north', clientSecret: 'demo-pat-north-secret' };

export async function startClientSystem(): Promise<ClientSystem> {
  const system = await startTestSystem();
  const [port] = (await freePorts(1)) as [number];
  const baseUrl = `http://localhost:${port}`;
  const startAuth = () => system.startAuth({}, { BOOKINGS_AUDIENCE: baseUrl });
  const auth = await startAuth();
  const environment = {
    BASE_URL: baseUrl,
    WEBHOOK_KEY: Buffer.alloc(32, 2).toString('base64'),
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  };
  const startBookings = () => system.startBookings(environment, { port });
  let bookings = await startBookings();
  return {
    system,
    auth,
    startAuth: async () => {
      await startAuth();
    },
    baseUrl,
    createClient: (options) => createBookingsClient({ baseUrl, auth: northToken, ...options }),
    stopBookings: async (signal) => {
      await bookings.stop(signal);
    },
    startBookings: async () => {
      bookings = await startBookings();
    },
    stop: system.stop,
  };
}

let slot = 0;
const firstSlot = Date.UTC(2041, 0, 1);

/** Returns a booking of a bay that is always open. Each call returns another time. */
export function newBooking(minutes = 30) {
  const start = firstSlot + slot++ * 3_600_000;
  return {
    bayId: 'bay-n2-01',
    userAlias: 'Ada',
    startDate: new Date(start).toISOString(),
    endDate: new Date(start + minutes * 60_000).toISOString(),
  };
}
