// What happens when auth, or what bookings hears of its keys, breaks? Bookings verifies with the keys it has; nobody waits long, nobody sees
// a 500, and all is well again by itself.
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

/** Signed by nobody whom bookings knows. */
async function strangerToken(): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256');
  return new SignJWT({
    scope: 'https://bay-booking.example/golf/bookings',
    facilities: ['fac-north'],
    client_id: 'stranger',
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: randomUUID() })
    .setIssuer(auth.base)
    .setAudience('http://bookings.test')
    .setExpirationTime('1h')
    .sign(privateKey);
}

describe('auth is away', () => {
  test('bookings serves on with the keys it has seen, a new instance waits for them, and auth picks up where it was', async () => {
    await auth.stop('SIGKILL');
    for (let count = 0; count < 50; count += 1) expect(await bookOnce(bookings.base, token)).toBe(201);
    expect(await bookings.ready()).toBe(true);
    await expect(getToken(auth.base)).rejects.toThrow();

    const fresh = await system.startBookings({}, { waitFor: 'live' });
    expect(await fresh.ready()).toBe(false);
    for (let count = 0; count < 15; count += 1) {
      const early = await book(fresh.base, token, nextBooking());
      expect(early).toMatchObject({ status: 503, codes: ['ERR00503'], retryAfter: expect.stringMatching(/^\d+$/) });
    }
    await eventually(async () => (await fresh.metric(/^jwks_fetch_failures_total/)) > 8);

    auth = await system.startAuth();
    const recovery = await timeUntil(() => fresh.ready());
    expect(await bookOnce(fresh.base, token)).toBe(201);
    expect(await bookOnce(fresh.base, await getToken(auth.base))).toBe(201);
    recordMeasurement('auth killed', { newInstanceReadyAfter: recovery });
    expect(recovery).toBeLessThan(10_000);
    await fresh.stop('SIGTERM');
  }, 60_000);

  test('one of two instances killed while tokens are asked for: the other one answers, and every token is good', async () => {
    const [port] = (await freePorts(1)) as [number];
    const doomed = await system.startAuth({ port });
    const bases = [doomed.base, auth.base];
    const tokens: string[] = [];
    let refused = 0;
    const ask = async (index: number): Promise<void> => {
      for (let turn = index; turn < index + 20; turn += 1) {
        await getToken(bases[turn % 2] as string)
          .catch((error: Error) => {
            // Whoever cannot be reached is passed over; an answer that is no token would be a failure.
            expect(error.message).toMatch(/fetch failed|terminated/);
            refused += 1;
            return getToken(auth.base);
          })
          .then((token) => tokens.push(token));
        if (tokens.length === 20) doomed.child.kill('SIGKILL');
      }
    };
    await Promise.all([ask(0), ask(1), ask(2)]);
    expect(tokens).toHaveLength(60);
    expect(new Set(tokens).size).toBe(60);
    for (const token of tokens) expect(await bookOnce(bookings.base, token)).toBe(201);
    recordMeasurement('one auth of two killed', { tokens: tokens.length, askedAgain: refused });
    await doomed.stop('SIGKILL');
  }, 60_000);

  test('told to stop while tokens are asked for: every accepted request is answered, then it exits with 0', async () => {
    const [port] = (await freePorts(1)) as [number];
    const leaving = await system.startAuth({ port });
    const before = (await system.database.query('auth', 'select now()')).rows[0].now;
    const asked = Array.from({ length: 20 }, () => getToken(leaving.base));
    await Promise.race(asked);
    expect(await leaving.stop('SIGTERM')).toBe(0);
    const answers = await Promise.allSettled(asked);
    for (const answer of answers)
      if (answer.status === 'rejected') expect(String(answer.reason)).toContain('fetch failed');
    const issued = answers.filter(({ status }) => status === 'fulfilled').length;
    const { rows } = await system.database.query(
      'auth',
      "select count(*)::int as count from audit_event where kind = 'token.issued' and at > $1",
      [before],
    );
    expect(rows[0].count).toBe(issued);
    recordMeasurement('auth told to stop', { issued });
  }, 60_000);
});

test.each([60_000, -60_000])(
  'tokens of an instance of auth whose clock is %s ms off are taken',
  async (skew) => {
    const [port] = (await freePorts(1)) as [number];
    const preload = join(import.meta.dirname, 'support/skewed-clock.js');
    const wrong = await system.startAuth({ port }, { NODE_OPTIONS: `--import ${preload}`, SKEW_MS: String(skew) });
    expect(await bookOnce(bookings.base, await getToken(wrong.base))).toBe(201);
    expect(await wrong.stop('SIGTERM')).toBe(0);
  },
  60_000,
);

describe('what bookings hears of the keys is wrong', () => {
  test.each(['slow', 'garbage', 'empty', 'error'] as const)(
    '%s: known tokens are served at once, unknown keys are refused soon',
    async (mode) => {
      const liar = await startLiar();
      const instance = await system.startBookings({ AUTH_JWKS_URI: liar.uri });
      liar.mode = mode;
      const stranger = book(instance.base, await strangerToken(), nextBooking());
      for (let count = 0; count < 20; count += 1) {
        const answer = await book(instance.base, token, nextBooking());
        expect(answer.status).toBe(201);
        expect(answer.milliseconds).toBeLessThan(1_000);
      }
      const refused = await stranger;
      expect(refused).toMatchObject({ status: 401, codes: ['ERR00401'] });
      expect(refused.milliseconds).toBeLessThan(6_000);
      expect(await instance.metric(/^jwks_fetch_failures_total/)).toBeGreaterThan(0);
      expect(await instance.ready()).toBe(true);
      recordMeasurement(`JWKS ${mode}`, { unknownKeyRefusedAfter: refused.milliseconds });
      await instance.stop('SIGTERM');
      liar.close();
    },
    60_000,
  );

  test('unknown keys without end do not become requests to auth without end', async () => {
    const asked = await auth.metric(/^http_request_duration_seconds_count.*"\/connect\/jwks"/);
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => book(bookings.base, await strangerToken(), nextBooking())),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    const more = (await auth.metric(/^http_request_duration_seconds_count.*"\/connect\/jwks"/)) - asked;
    recordMeasurement('100 unknown keys', { fetches: more });
    expect(more).toBeLessThanOrEqual(15);
  }, 60_000);
});

describe('what operators look at', () => {
  test('every metric that an alert or a dashboard names is one that the services have', async () => {
    // Some are only there where lists are to come from a replica.
    const readingElsewhere = await system.startBookings({ DATABASE_READ_URL: system.database.urlOf('bookings') });
    const texts = await Promise.all(
      [auth, readingElsewhere].map(async ({ base }) => (await fetch(`${base}/metrics`)).text()),
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

type Mode = 'true' | 'slow' | 'garbage' | 'empty' | 'error';

/** Answers auth's keys, or what a broken server answers. */
async function startLiar(): Promise<{ readonly uri: string; mode: Mode; readonly close: () => void }> {
  const held: ServerResponse[] = [];
  const liar = { uri: '', mode: 'true' as Mode, close: () => {} };
  const server: Server = createServer(async (_request, response) => {
    const body: Record<Exclude<Mode, 'slow'>, () => Promise<string> | string> = {
      true: async () => (await fetch(`${auth.base}/connect/jwks`)).text(),
      garbage: () => '<html>',
      empty: () => '{"keys":[]}',
      error: () => '{}',
    };
    if (liar.mode === 'slow') return void held.push(response);
    response.writeHead(liar.mode === 'error' ? 500 : 200, { 'Content-Type': 'application/json' });
    response.end(await body[liar.mode]());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return Object.assign(liar, {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    close: () => {
      for (const response of held) response.destroy();
      server.closeAllConnections();
      server.close();
    },
  });
}
