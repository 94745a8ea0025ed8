// Which system do the fault tests break? One database server behind a gate, auth at a fixed address, and as many instances as a test wants.
import { book, nextBooking } from './booking-load.ts';
import {
  type DatabaseServer,
  type Instance,
  type InstanceOptions,
  startDatabaseServer,
  startInstance,
  stopInstances,
} from './fault-lab.ts';
import { type Gate, openGate } from './gate.ts';
import { freePorts } from './running-system.ts';

export interface FaultSystem {
  readonly database: DatabaseServer;
  /** Between the instances of bookings and the database. */
  readonly gate: Gate;
  readonly startAuth: (options?: InstanceOptions) => Promise<Instance>;
  readonly startBookings: (environment?: Record<string, string>, options?: InstanceOptions) => Promise<Instance>;
  readonly stop: () => Promise<void>;
}

export async function startFaultSystem(): Promise<FaultSystem> {
  const database = await startDatabaseServer();
  const gate = await openGate(database.port);
  const [authPort] = (await freePorts(1)) as [number];
  const issuer = `http://localhost:${authPort}`;
  return {
    database,
    gate,
    startAuth: (options = {}) =>
      startInstance(
        'auth',
        {
          DATABASE_URL: database.urlOf('auth'),
          ISSUER: issuer,
          BOOKINGS_AUDIENCE: 'http://bookings.test',
          COOKIE_KEYS: 'fault-tests-cookie-key-0123456789abcdef',
          KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
        },
        { port: authPort, ...options },
      ),
    startBookings: (environment = {}, options = {}) =>
      startInstance(
        'bookings',
        {
          DATABASE_URL: database.urlOf('bookings', gate.port),
          BASE_URL: 'http://bookings.test',
          AUTH_ISSUER: issuer,
          ...environment,
        },
        options,
      ),
    stop: async () => {
      await stopInstances();
      await gate.close();
      await database.remove();
    },
  };
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

const report: string[] = [];
export const measured = (fault: string, result: Readonly<Record<string, unknown>>): void =>
  void report.push(`${fault}: ${JSON.stringify(result)}`);
export function printReport(): void {
  if (process.env.FAULT_REPORT) process.stdout.write(`${report.join('\n')}\n`);
}
