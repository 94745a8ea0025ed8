// Tests failures of auth and of its JWKS endpoint. Bookings must continue with its cached keys, respond quickly, never
// return a 500, and recover without an operator.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { freePorts } from '@bay-booking/postgres/ports';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { book, nextBooking } from './support/booking-load.ts';
import type { Instance } from './support/instance.ts';
import {
  bookOnce,
  getToken,
  printMeasurements,
  recordMeasurement,
  startTestSystem,
  type TestSystem,
} from './support/test-system.ts';
import { eventually, timeUntil } from './support/wait.ts';

let system: TestSystem;
let auth: Instance;
let bookings: Instance;
let token: string;

beforeAll(async () => {
  system = await startTestSystem();
  auth = await system.startAuth();
  bookings = await system.startBookings();
  token = await getToken(auth.base);
}, 90_000);
afterAll(async () => {
  await system?.stop();
  printMeasurements();
}, 60_000);

/** Returns a token that was signed with a key that auth does not publish. */
async function tokenOfUnknownKey(): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256');
  return new SignJWT({
    scope: 'https://bay-booking.example/golf/bookings',
    facilities: ['fac-north'],
    client_id: 'test',
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: randomUUID() })
    .setIssuer(auth.base)
    .setAudience('http://bookings.test')
    .setExpirationTime('1h')
    .sign(privateKey);
}

describe('auth is down', () => {
  test('bookings continues with its cached keys, and a new instance becomes ready when auth is available again', async () => {
    await auth.stop('SIGKILL');
    for (let count = 0; count < 50; count += 1) expect(await bookOnce(bookings.base, token)).toBe(201);
    expect(await bookings.isReady()).toBe(true);
    await expect(getToken(auth.base)).rejects.toThrow();

    const fresh = await system.startBookings({}, { waitFor: 'live' });
    expect(await fresh.isReady()).toBe(false);
    for (let count = 0; count < 15; count += 1) {
      const early = await book(fresh.base, token, nextBooking());
      expect(early).toMatchObject({ status: 503, codes: ['ERR00503'], retryAfter: expect.stringMatching(/^\d+$/) });
    }
    await eventually(async () => (await fresh.metric(/^jwks_fetch_failures_total/)) > 8);

    auth = await system.startAuth();
    const recovery = await timeUntil(() => fresh.isReady());
    expect(await bookOnce(fresh.base, token)).toBe(201);
    expect(await bookOnce(fresh.base, await getToken(auth.base))).toBe(201);
    recordMeasurement('auth killed', { newInstanceReadyAfter: recovery });
    expect(recovery).toBeLessThan(10_000);
    await fresh.stop('SIGTERM');
  }, 60_000);

  test('when one of two instances is killed, the other instance issues valid tokens', async () => {
    const [port] = (await freePorts(1)) as [number];
    const killed = await system.startAuth({ port });
    const bases = [killed.base, auth.base];
    const tokens: string[] = [];
    let retried = 0;
    const fetchTokens = async (index: number): Promise<void> => {
      for (let turn = index; turn < index + 20; turn += 1) {
        await getToken(bases[turn % 2] as string)
          .catch((error: Error) => {
            // Only connection errors are allowed. A response without a token fails the test.
            expect(error.message).toMatch(/fetch failed|terminated/);
            retried += 1;
            return getToken(auth.base);
          })
          .then((token) => tokens.push(token));
        if (tokens.length === 20) killed.child.kill('SIGKILL');
      }
    };
    await Promise.all([fetchTokens(0), fetchTokens(1), fetchTokens(2)]);
    expect(tokens).toHaveLength(60);
    expect(new Set(tokens).size).toBe(60);
    for (const token of tokens) expect(await bookOnce(bookings.base, token)).toBe(201);
    recordMeasurement('one of two instances of auth killed', { tokens: tokens.length, retried });
    await killed.stop('SIGKILL');
  }, 60_000);

  test('on SIGTERM, auth completes every accepted token request and exits with code 0', async () => {
    const [port] = (await freePorts(1)) as [number];
    const stopping = await system.startAuth({ port });
    const before = (await system.database.query('auth', 'select now()')).rows[0].now;
    const requests = Array.from({ length: 20 }, () => getToken(stopping.base));
    await Promise.race(requests);
    expect(await stopping.stop('SIGTERM')).toBe(0);
    const results = await Promise.allSettled(requests);
    for (const result of results)
      if (result.status === 'rejected') expect(String(result.reason)).toContain('fetch failed');
    const issued = results.filter(({ status }) => status === 'fulfilled').length;
    const { rows } = await system.database.query(
      'auth',
      "select count(*)::int as count from audit_event where kind = 'token.issued' and at > $1",
      [before],
    );
    expect(rows[0].count).toBe(issued);
    recordMeasurement('auth stopped', { issued });
  }, 60_000);
});

test.each([60_000, -60_000])(
  'bookings accepts tokens of an instance of auth whose clock differs by %s ms',
  async (skew) => {
    const [port] = (await freePorts(1)) as [number];
    const preload = join(import.meta.dirname, 'support/skewed-clock.js');
    const wrong = await system.startAuth({ port }, { NODE_OPTIONS: `--import ${preload}`, SKEW_MS: String(skew) });
    expect(await bookOnce(bookings.base, await getToken(wrong.base))).toBe(201);
    expect(await wrong.stop('SIGTERM')).toBe(0);
  },
  60_000,
);

describe('the JWKS endpoint is broken', () => {
  test.each(['slow', 'garbage', 'empty', 'error'] as const)(
    '%s: tokens of known keys are accepted immediately, and tokens of unknown keys are refused within 6 s',
    async (mode) => {
      const jwks = await startBrokenJwks();
      const instance = await system.startBookings({ AUTH_JWKS_URI: jwks.uri });
      jwks.mode = mode;
      const unknownKey = book(instance.base, await tokenOfUnknownKey(), nextBooking());
      for (let count = 0; count < 20; count += 1) {
        const response = await book(instance.base, token, nextBooking());
        expect(response.status).toBe(201);
        expect(response.milliseconds).toBeLessThan(1_000);
      }
      const refused = await unknownKey;
      expect(refused).toMatchObject({ status: 401, codes: ['ERR00401'] });
      expect(refused.milliseconds).toBeLessThan(6_000);
      expect(await instance.metric(/^jwks_fetch_failures_total/)).toBeGreaterThan(0);
      expect(await instance.isReady()).toBe(true);
      recordMeasurement(`JWKS ${mode}`, { unknownKeyRefusedAfter: refused.milliseconds });
      await instance.stop('SIGTERM');
      jwks.close();
    },
    60_000,
  );

  test('many tokens of unknown keys cause only a few requests to auth', async () => {
    const fetchesBefore = await auth.metric(/^http_request_duration_seconds_count.*"\/connect\/jwks"/);
    const responses = await Promise.all(
      Array.from({ length: 100 }, async () => book(bookings.base, await tokenOfUnknownKey(), nextBooking())),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401]));
    const more = (await auth.metric(/^http_request_duration_seconds_count.*"\/connect\/jwks"/)) - fetchesBefore;
    recordMeasurement('100 unknown keys', { fetches: more });
    expect(more).toBeLessThanOrEqual(15);
  }, 60_000);
});

describe('alerts and dashboards', () => {
  test('contain only metrics that the services have', async () => {
    // Some metrics exist only if lists are read from a replica.
    const withReplica = await system.startBookings({ DATABASE_READ_URL: system.database.urlOf('bookings') });
    const texts = await Promise.all(
      [auth, withReplica].map(async ({ base }) => (await fetch(`${base}/metrics`)).text()),
    );
    const known = new Set(
      [...texts.join('\n').matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name, type]) =>
        type === 'histogram' || type === 'summary' ? [name, `${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
      ),
    );
    const root = join(import.meta.dirname, '..');
    const files = [
      'infra/prometheus/alerts.yml',
      'infra/grafana/dashboards/auth.json',
      'infra/grafana/dashboards/bookings.json',
    ];
    for (const file of files) {
      const named = readFileSync(join(root, file), 'utf8').match(
        /\b(?:http|database|jwks|auth|signing_key|nodejs|process|log|replica)_[a-z0-9_]+_(?:bucket|count|sum|total|seconds|bytes|connections)\b/g,
      );
      expect((named ?? []).length).toBeGreaterThan(10);
      expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
    }
  });
});

type Mode = 'correct' | 'slow' | 'garbage' | 'empty' | 'error';

/** Starts a JWKS endpoint that serves the keys of auth. A test can set `mode` to make its responses wrong. */
async function startBrokenJwks(): Promise<{ readonly uri: string; mode: Mode; readonly close: () => void }> {
  const pending: ServerResponse[] = [];
  const jwks = { uri: '', mode: 'correct' as Mode, close: () => {} };
  const server: Server = createServer(async (_request, response) => {
    const body: Record<Exclude<Mode, 'slow'>, () => Promise<string> | string> = {
      correct: async () => (await fetch(`${auth.base}/connect/jwks`)).text(),
      garbage: () => '<html>',
      empty: () => '{"keys":[]}',
      error: () => '{}',
    };
    if (jwks.mode === 'slow') return void pending.push(response);
    response.writeHead(jwks.mode === 'error' ? 500 : 200, { 'Content-Type': 'application/json' });
    response.end(await body[jwks.mode]());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return Object.assign(jwks, {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    close: () => {
      for (const response of pending) response.destroy();
      server.closeAllConnections();
      server.close();
    },
  });
}
