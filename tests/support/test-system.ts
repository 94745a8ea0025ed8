// Starts the system for tests: a database server, and any number of instances of auth and bookings. The instances of
// bookings connect to the database through a proxy, with which a test can delay and stop the traffic.
import { join } from 'node:path';
import { freePort } from '@bay-booking/postgres/ports';
import { startTcpProxy, type TcpProxy } from '@bay-booking/testkit/tcp-proxy';
import { expect } from '@jest/globals';
import { book, type Load, nextBooking } from './booking-load.ts';
import { keyEncryptionKey } from './commands.ts';
import { type DatabaseServer, startDatabaseServer, type TestDatabase } from './database-server.ts';
import { type Instance, type InstanceOptions, startInstance, stopInstances } from './instance.ts';

export interface TestSystem<Database extends TestDatabase = DatabaseServer> {
  readonly database: Database;
  readonly proxy: TcpProxy;
  /** Starts an instance of auth at the address of the issuer. */
  readonly startAuth: (environment?: Record<string, string>) => Promise<Instance>;
  /** Starts a further instance of auth, with the same issuer and at another address. */
  readonly startSecondAuth: (environment?: Record<string, string>) => Promise<Instance>;
  readonly startBookings: (environment?: Record<string, string>, options?: InstanceOptions) => Promise<Instance>;
  /**
   * Starts one instance of auth and two instances of bookings, and gets the access token of a partner. Both instances
   * of bookings get the variables in `environment`.
   */
  readonly startServices: (environment?: Record<string, string>) => Promise<Services>;
  readonly close: () => Promise<void>;
}

export interface Services {
  readonly auth: Instance;
  readonly firstInstance: Instance;
  readonly secondInstance: Instance;
  readonly token: string;
}

/** @param settings settings of PostgreSQL, for example `archive_mode` */
export const startTestSystem = async (settings: Record<string, string> = {}): Promise<TestSystem> =>
  startTestSystemOn(await startDatabaseServer(settings));

export async function startTestSystemOn<Database extends TestDatabase>(
  database: Database,
): Promise<TestSystem<Database>> {
  const proxy = await startTcpProxy(database);
  const authPort = await freePort();
  const issuer = `http://localhost:${authPort}`;
  const startAuthAt = (port: number, environment: Record<string, string> = {}): Promise<Instance> =>
    startInstance(
      'auth',
      {
        DATABASE_URL: database.urlOf('auth'),
        ISSUER: issuer,
        BOOKINGS_AUDIENCE: 'http://bookings.test',
        COOKIE_KEYS: 'test-system-cookie-key-0123456789abcdef',
        KEY_ENCRYPTION_KEY: keyEncryptionKey,
        ...environment,
      },
      { port },
    );
  const system: TestSystem<Database> = {
    database,
    proxy,
    startAuth: (environment) => startAuthAt(authPort, environment),
    startSecondAuth: async (environment) => startAuthAt(await freePort(), environment),
    startBookings: (environment = {}, options = {}) =>
      startInstance(
        'bookings',
        {
          DATABASE_URL: database.urlOf('bookings', proxy.port),
          BASE_URL: 'http://bookings.test',
          AUTH_ISSUER: issuer,
          ...environment,
        },
        options,
      ),
    startServices: async (environment) => {
      const auth = await system.startAuth();
      const [firstInstance, secondInstance] = await Promise.all([
        system.startBookings(environment),
        system.startBookings(environment),
      ]);
      return { auth, firstInstance, secondInstance, token: await getToken(auth.base) };
    },
    close: async () => {
      await stopInstances();
      await proxy.disconnect();
      await database.remove();
    },
  };
  return system;
}

/** Returns the environment variables that shift the clock of an instance. */
export const skewedClock = (milliseconds: number): Record<string, string> => ({
  NODE_OPTIONS: `--import ${join(import.meta.dirname, 'skewed-clock.js')}`,
  SKEW_MS: String(milliseconds),
});

/**
 * Gets an access token from the instance of auth at the address `base`, with a personal access token of a program that
 * may write bookings and schedules.
 * @throws {Error} when the status is not 200, or when there is no response within 10 s
 */
export async function getToken(base: string): Promise<string> {
  const response = await fetch(`${base}/connect/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa('demo-pat-north-manage:demo-pat-north-manage-secret')}` },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'https://bay-booking.example/golf/bookings https://bay-booking.example/golf/schedule',
    }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

export const bookOnce = async (base: string, token: string): Promise<number> =>
  (await book(base, token, nextBooking())).status;

/**
 * Stops the load. Checks that clients got only the expected statuses, that every acknowledged booking is in the
 * database, and that no bay is booked twice.
 */
export async function stopLoadAndExpectNoLostOrDoubleBookings(database: TestDatabase, load: Load): Promise<void> {
  await load.stop();
  for (const { status, codes, retryAfter } of load.responses) {
    // Status 0 stands for a request without a response. If the service has created the booking nevertheless, the
    // repeated request returns BOOK00001.
    expect([0, 201, 400, 503]).toContain(status);
    if (status === 400) expect(codes).toContain('BOOK00001');
    if (status === 503) expect(retryAfter).toMatch(/^\d+$/);
  }
  expect(load.acknowledged.size).toBeGreaterThan(0);
  const { rows } = await database.query(
    'bookings',
    'select external_booking_id as id from booking where external_booking_id = any($1)',
    [[...load.acknowledged]],
  );
  expect(rows.length).toBe(load.acknowledged.size);
  const overlapping = await database.query(
    'bookings',
    `select count(*)::int as count
     from booking a join booking b on a.facility_id = b.facility_id and a.bay_id = b.bay_id and a.id < b.id
       and tstzrange(a.start_date, a.end_date) && tstzrange(b.start_date, b.end_date)`,
  );
  expect(overlapping.rows[0].count).toBe(0);
}
