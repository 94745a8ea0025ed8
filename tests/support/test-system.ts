// Which system do the fault tests break? One database server behind a proxy, auth at a fixed address, and as many instances as a test wants.
import { freePorts } from '@bay-booking/postgres/ports';
import { expect } from '@jest/globals';
import { book, type Load, nextBooking } from './booking-load.ts';
import {
  type DatabaseServer,
  type Instance,
  type InstanceOptions,
  startDatabaseServer,
  startInstance,
  stopInstances,
  type TestDatabase,
} from './services.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export interface TestSystem<Database extends TestDatabase = DatabaseServer> {
  readonly database: Database;
  /** Between the instances of bookings and the database. */
  readonly proxy: TcpProxy;
  readonly startAuth: (options?: InstanceOptions, environment?: Record<string, string>) => Promise<Instance>;
  readonly startBookings: (environment?: Record<string, string>, options?: InstanceOptions) => Promise<Instance>;
  /** One of auth, two of bookings with `environment`, and a partner's token. */
  readonly startServices: (environment?: Record<string, string>) => Promise<Services>;
  readonly stop: () => Promise<void>;
}

export interface Services {
  readonly auth: Instance;
  readonly one: Instance;
  readonly two: Instance;
  readonly token: string;
}

export const startTestSystem = async (settings: Record<string, string> = {}): Promise<TestSystem> =>
  startTestSystemOn(await startDatabaseServer(settings));

export async function startTestSystemOn<Database extends TestDatabase>(
  database: Database,
): Promise<TestSystem<Database>> {
  const proxy = await startTcpProxy(database.port);
  const [authPort] = (await freePorts(1)) as [number];
  const issuer = `http://localhost:${authPort}`;
  const system: TestSystem<Database> = {
    database,
    proxy,
    startAuth: (options = {}, environment = {}) =>
      startInstance(
        'auth',
        {
          DATABASE_URL: database.urlOf('auth'),
          ISSUER: issuer,
          BOOKINGS_AUDIENCE: 'http://bookings.test',
          COOKIE_KEYS: 'fault-tests-cookie-key-0123456789abcdef',
          KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
          ...environment,
        },
        { port: authPort, ...options },
      ),
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
      const pair = [system.startBookings(environment), system.startBookings(environment)] as const;
      const [one, two] = await Promise.all(pair);
      return { auth, one, two, token: await getToken(auth.base) };
    },
    stop: async () => {
      await stopInstances();
      await proxy.close();
      await database.remove();
    },
  };
  return system;
}

/** A partner's token, by its personal access token. */
export async function getToken(base: string): Promise<string> {
  const response = await fetch(`${base}/connect/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa('demo-pat-north:demo-pat-north-secret')}` },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'https://bay-booking.example/golf/bookings',
    }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

/** The status of one more booking. */
export const bookOnce = async (base: string, token: string): Promise<number> =>
  (await book(base, token, nextBooking())).status;

/** After every fault: no inner failure was shown, what was acknowledged is there, and no bay is booked twice. */
export async function expectNoLostOrDoubleBookings(database: TestDatabase, load: Load): Promise<void> {
  await load.stop();
  expect(Object.keys(load.statuses()).filter((status) => !['0', '201', '400', '503'].includes(status))).toEqual([]);
  for (const { status, codes } of load.answers) if (status === 400) expect(codes).toContain('BOOK00001');
  for (const { status, retryAfter } of load.answers) if (status === 503) expect(retryAfter).toMatch(/^\d+$/);
  expect(load.acknowledged.size).toBeGreaterThan(0);
  const { rows } = await database.query(
    'bookings',
    'select external_booking_id as id from booking where external_booking_id = any($1)',
    [[...load.acknowledged]],
  );
  expect(rows.length).toBe(load.acknowledged.size);
  const doubled = await database.query(
    'bookings',
    `select count(*)::int as count from booking a join booking b on a.facility_id = b.facility_id and a.bay_id = b.bay_id and a.id < b.id
       and tstzrange(a.start_date, a.end_date) && tstzrange(b.start_date, b.end_date)`,
  );
  expect(doubled.rows[0].count).toBe(0);
}

const report: string[] = [];
export const recordMeasurement = (fault: string, result: Readonly<Record<string, unknown>>): void =>
  void report.push(`${fault}: ${JSON.stringify(result)}`);
export function printMeasurements(): void {
  if (process.env.FAULT_REPORT) process.stdout.write(`${report.join('\n')}\n`);
}
