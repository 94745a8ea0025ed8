// Everything a test needs: a database of its own with the places in it, an issuer, and the real application listening on a port.
// `call` checks every answer against the OpenAPI document.
import { connectDatabase, type Database } from '@bay-booking/service/database/database';
import { type Listening, listen } from '@bay-booking/service/lifecycle';
import { createLogger } from '@bay-booking/service/logging';
import { createMetrics } from '@bay-booking/service/metrics';
import { createTestDatabase } from '@bay-booking/testkit/database';
import { createTestIssuer, type TestIssuer, type TokenOptions } from '@bay-booking/testkit/issuer';
import supertest from 'supertest';
import { createApp } from '../../src/app.ts';
import { createJwksCache, type JwksCache } from '../../src/auth/jwks-cache.ts';
import { distribution } from '../../src/database/distribution.ts';
import { migrationsDirectory } from '../../src/database/migrations-directory.ts';
import { checkAnswer } from './check-answer.ts';
import { importTestPlaces } from './places.ts';

export const baseUrl = 'https://bookings.example';

interface CallOptions {
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface World {
  readonly url: string;
  readonly databaseUrl: string;
  readonly db: Database;
  readonly issuer: TestIssuer;
  readonly jwksCache: JwksCache;
  readonly logged: string[];
  /** The SQLSTATE of every statement that failed. */
  readonly databaseErrors: string[];
  /** A token for these facilities; that of `call` unless told otherwise names fac-north and fac-south. */
  token(facilities: readonly string[], options?: TokenOptions): Promise<string>;
  call(method: string, path: string, options?: CallOptions): Promise<supertest.Response>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly now?: () => Date;
  readonly rateLimitPerMinute?: number;
  readonly baseUrl?: string;
  readonly poolMax?: number;
  readonly issuer?: { readonly timeout?: number; readonly refreshEvery?: number; readonly slowMilliseconds?: number };
  /** Share another world's database and issuer, as a second instance does. */
  readonly beside?: World;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { beside } = options;
  const database = beside ? undefined : await createTestDatabase({ migrations: migrationsDirectory, distribution });
  const databaseUrl = beside?.databaseUrl ?? (database?.url as string);
  const issuer =
    beside?.issuer ??
    (await createTestIssuer({ audience: baseUrl, slowMilliseconds: options.issuer?.slowMilliseconds ?? 20_000 }));
  const db = connectDatabase({ url: databaseUrl, applicationName: 'test', poolMax: options.poolMax ?? 10 });
  const databaseErrors: string[] = [];
  db.on('query-error', (error: { code?: string }) => databaseErrors.push(String(error.code)));
  if (!beside) await importTestPlaces(db);
  const logged: string[] = [];
  const logger = createLogger({
    service: 'bookings',
    level: 'info',
    destination: { write: (line) => void logged.push(line) },
  });
  const jwksCache = createJwksCache({ issuer: issuer.url, onFailure: () => {}, ...options.issuer });
  const app = createApp({
    config: {
      baseUrl: options.baseUrl ?? baseUrl,
      authIssuer: issuer.url,
      audience: baseUrl,
      scopeBase: 'https://bay-booking.example',
      trustProxy: false,
      rateLimitPerMinute: options.rateLimitPerMinute ?? 0,
      metricsPort: undefined,
    },
    db,
    jwksCache,
    logger,
    metrics: createMetrics('bookings'),
    ...(options.now && { now: options.now }),
  });
  const listening: Listening = await listen(app, 0);
  const url = `http://127.0.0.1:${listening.port}`;
  // Good for as long as a test may turn its clock.
  const exp = Math.floor(Date.UTC(2099, 0) / 1000);
  const token = (facilities: readonly string[], claims: TokenOptions = {}) =>
    issuer.token({ facilities, exp, ...claims });
  const ordinary = await token(['fac-north', 'fac-south']);
  return {
    url,
    databaseUrl,
    db,
    issuer,
    jwksCache,
    logged,
    databaseErrors,
    token,
    call: async (method, path, { token = ordinary, body, headers = {} } = {}) => {
      const request = supertest(url)[method.toLowerCase() as 'get'](path).redirects(0);
      if (token !== null) request.set('Authorization', `Bearer ${token}`);
      for (const [name, value] of Object.entries(headers)) request.set(name, value);
      if (body !== undefined) {
        if (typeof body === 'string' || Buffer.isBuffer(body)) {
          request.set('Content-Type', headers['Content-Type'] ?? 'application/json').serialize((raw) => raw as string);
          request.send(body as string);
        } else request.send(body as object);
      }
      const response = await request;
      checkAnswer(method, path, response);
      return response;
    },
    close: async () => {
      jwksCache.close();
      await listening.drain();
      await db.destroy();
      if (beside) return;
      await issuer.close();
      await database?.drop();
    },
  };
}

const others: World[] = [];

/** A world for one test, which `closeOthers` closes however the test ends. */
export async function another(options: WorldOptions = {}): Promise<World> {
  const world = await createWorld(options);
  others.push(world);
  return world;
}

export async function closeOthers(): Promise<void> {
  await Promise.all(others.splice(0).map((world) => world.close()));
}
