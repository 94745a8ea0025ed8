// Starts the real application on a port, with its own token issuer, and a database with the bays of places.ts.
import { Agent } from 'node:http';
import { connectDatabase, type Database, errorCode } from '@bay-booking/service/database/database';
import { startHttpServer } from '@bay-booking/service/http/server';
import { createLogger } from '@bay-booking/service/logging';
import { createMetrics } from '@bay-booking/service/metrics';
import { createTestDatabase } from '@bay-booking/testkit/database';
import { createTestIssuer, type TestIssuer, type TokenOptions } from '@bay-booking/testkit/issuer';
import supertest from 'supertest';
import { createBookingsApp } from '../../src/app.ts';
import type { Revocations } from '../../src/auth/revocations.ts';
import type { IssuerKeys } from '../../src/auth/signing-keys.ts';
import { bookingsMigrations, type Config, readBookingsConfig } from '../../src/config.ts';
import { distribution } from '../../src/database/distribution.ts';
import { isoTimestamps } from '../../src/time/timestamps.ts';
import { checkResponse } from './check-response.ts';
import { importTestPlaces } from './places.ts';

export const baseUrl = 'https://bookings.example';

/** The default key that encrypts the signing secrets of webhooks. */
const webhookKey = Buffer.alloc(32, 7);

interface CallOptions {
  /** Default: a token for fac-north and fac-south. With `null`, the request has no token. */
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestSystem {
  readonly url: string;
  /** Where the management API is: `url`, or another port if `managementPort` is set. */
  readonly managementUrl: string;
  readonly databaseUrl: string;
  readonly db: Database;
  readonly issuer: TestIssuer;
  readonly signingKeys: IssuerKeys;
  readonly revocations: Revocations;
  readonly logged: string[];
  /** The SQLSTATE of every statement that failed. */
  readonly databaseErrors: string[];
  token(facilities: readonly string[], options?: TokenOptions): Promise<string>;
  /** Sends a request and checks the response against openapi.json. */
  call(method: string, path: string, options?: CallOptions): Promise<supertest.Response>;
  /** Runs a periodic job now, such as `webhook deliveries` or `webhook secrets`. */
  runWebhookJob(name: string): Promise<void>;
  close(): Promise<void>;
}

export interface TestSystemOptions {
  /** The clock of the service. Default: the system clock. */
  readonly now?: () => Date;
  /**
   * Replaces settings of the service. Without `config`, only `holdsPerOwner` (10,000) differs from the defaults: all
   * tests of a file create their holds with the same owner.
   */
  readonly config?: Partial<Config>;
  readonly poolMax?: number;
  /** Options of the signing keys, in ms. */
  readonly issuer?: { readonly timeout?: number; readonly unknownKeyInterval?: number };
  /** By default, events are not delivered, and webhooks can only have public addresses. */
  readonly webhooks?: {
    readonly deliver: boolean;
    readonly allowNetworks?: readonly string[];
    /** The keys of WEBHOOK_KEY. */
    readonly keys?: readonly Buffer[];
  };
  /** An existing test system, whose database and issuer the new one uses, like a second instance of the service. */
  readonly sharing?: TestSystem;
}

export async function createTestSystem(options: TestSystemOptions = {}): Promise<TestSystem> {
  const { sharing, now = () => new Date(), poolMax = 10 } = options;
  // `distribution` has an effect only if the tests run on a Citus cluster.
  const database = sharing ? undefined : await createTestDatabase({ migrations: bookingsMigrations, distribution });
  const databaseUrl = sharing?.databaseUrl ?? (database?.url as string);
  const issuer = sharing?.issuer ?? (await createTestIssuer({ audience: baseUrl }));
  const db = connectDatabase({
    url: databaseUrl,
    applicationName: 'test',
    poolMax,
    migrationsDirectory: bookingsMigrations,
    types: isoTimestamps,
  });
  const databaseErrors: string[] = [];
  db.connections.events.on('failure', (error) => databaseErrors.push(String(errorCode(error))));
  if (!sharing) await importTestPlaces(db);
  const logged: string[] = [];
  const logger = createLogger({
    service: 'bookings',
    level: 'info',
    destination: { write: (line) => void logged.push(line) },
  });
  const config = {
    ...readBookingsConfig({ DATABASE_URL: databaseUrl, BASE_URL: baseUrl, AUTH_ISSUER: issuer.url }),
    holdsPerOwner: 10_000,
    webhookKeys: options.webhooks?.keys ?? [webhookKey],
    webhookAllowNetworks: options.webhooks?.allowNetworks ?? [],
    ...options.config,
  };
  const metrics = createMetrics('bookings');
  const app = createBookingsApp({ config, db, logger, metrics, now, signingKeys: options.issuer ?? {} });
  const { signingKeys, revocations } = app;
  // Without the list, every request gets 503. Some tests simulate that it cannot be read.
  await revocations.read().catch(() => {});
  const stopWebhooks = options.webhooks?.deliver ? app.webhooks?.start() : undefined;
  const server = await startHttpServer({ handler: app.express, port: 0 });
  const url = `http://127.0.0.1:${server.port}`;
  const management = app.management && (await startHttpServer({ handler: app.management, port: 0 }));
  // Some tests move the clock of the service forward, so tokens need a later expiry than by default.
  const exp = Math.floor(Date.UTC(2099, 0) / 1000);
  const token = (facilities: readonly string[], claims: TokenOptions = {}) =>
    issuer.token({
      facilities,
      exp,
      scope: 'https://bay-booking.example/golf/bookings https://bay-booking.example/golf/schedule',
      ...claims,
    });
  return {
    url,
    managementUrl: management ? `http://127.0.0.1:${management.port}` : url,
    databaseUrl,
    db,
    issuer,
    signingKeys,
    revocations,
    logged,
    databaseErrors,
    token,
    call: createCall(url, await token(['fac-north', 'fac-south'])),
    runWebhookJob: async (name) => {
      const job = app.jobs.find((candidate) => candidate.name === name);
      if (!job) throw new Error(`there is no job "${name}"`);
      await job.run();
    },
    close: async () => {
      await server.drain();
      await management?.drain();
      await stopWebhooks?.();
      await db.destroy();
      if (sharing) return;
      await issuer.close();
      await database?.drop();
    },
  };
}

function createCall(url: string, defaultToken: string): TestSystem['call'] {
  // By default, superagent opens a connection for each request.
  const agent = new Agent({ keepAlive: true });
  return async (method, path, { token = defaultToken, body, headers = {} } = {}) => {
    const request = supertest(url)[method.toLowerCase() as 'get'](path).redirects(0).agent(agent);
    if (token !== null) request.set('Authorization', `Bearer ${token}`);
    for (const [name, value] of Object.entries(headers)) request.set(name, value);
    if (typeof body === 'string' || Buffer.isBuffer(body)) {
      // A string or a buffer is sent unchanged. supertest would otherwise encode it as JSON.
      request.set('Content-Type', headers['Content-Type'] ?? 'application/json').serialize((raw) => raw as string);
      request.send(body as string);
    } else if (body !== undefined) request.send(body as object);
    const response = await request;
    checkResponse(method, path, response);
    return response;
  };
}

const extraSystems: TestSystem[] = [];

/** Creates a system for a single test. `closeExtraSystems` closes it, even if the test fails. */
export async function createExtraSystem(options: TestSystemOptions = {}): Promise<TestSystem> {
  const system = await createTestSystem(options);
  extraSystems.push(system);
  return system;
}

export async function closeExtraSystems(): Promise<void> {
  await Promise.all(extraSystems.splice(0).map((system) => system.close()));
}
