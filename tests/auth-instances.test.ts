// Tests instances of auth that fail, stop, have other clocks or rotate their signing keys. Bookings must continue with
// the public keys that it has cached, never return a 500, and recover without an operator. Failures of the JWKS
// endpoint alone: apps/bookings/test/access-token.test.ts. FAULT_REPORT=1 prints the measurements.
import { setTimeout as pause } from 'node:timers/promises';
import { useFixture } from '@bay-booking/testkit/fixture';
import { eventually } from '@bay-booking/testkit/wait';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { book, nextBooking } from './support/booking-load.ts';
import { keyEncryptionKey, runCommand } from './support/commands.ts';
import type { Instance } from './support/instance.ts';
import { recordMeasurement, timeUntil } from './support/measurements.ts';
import { bookOnce, getToken, skewedClock, startTestSystem } from './support/test-system.ts';

const system = useFixture(startTestSystem);
let auth: Instance;
let bookings: Instance;
let token: string;
beforeAll(async () => {
  auth = await system.startAuth();
  bookings = await system.startBookings();
  token = await getToken(auth.base);
});

describe('an instance of auth stops', () => {
  test('bookings continues with cached keys while auth is down, and a new instance waits for auth', async () => {
    await auth.stop('SIGKILL');
    for (let count = 0; count < 50; count += 1) expect(await bookOnce(bookings.base, token)).toBe(201);
    expect(await bookings.isReady()).toBe(true);
    await expect(getToken(auth.base)).rejects.toThrow();

    const newInstance = await system.startBookings({}, { waitFor: 'live' });
    expect(await newInstance.isReady()).toBe(false);
    for (let count = 0; count < 15; count += 1) {
      const response = await book(newInstance.base, token, nextBooking());
      expect(response).toMatchObject({ status: 503, codes: ['ERR00503'], retryAfter: expect.stringMatching(/^\d+$/) });
    }
    // After more than eight failures in a row, the instance retries at its longest interval, which is 2 s.
    await eventually(async () => (await newInstance.metric(/^jwks_fetch_failures_total/)) > 8);

    auth = await system.startAuth();
    const recovery = await timeUntil(() => newInstance.isReady());
    expect(await bookOnce(newInstance.base, token)).toBe(201);
    expect(await bookOnce(newInstance.base, await getToken(auth.base))).toBe(201);
    recordMeasurement('auth killed', { newInstanceReadyAfter: recovery });
    expect(recovery).toBeLessThan(30_000);
    await newInstance.stop('SIGTERM');
  });

  test('when one of two instances is killed, the other issues valid tokens, also if their clocks differ', async () => {
    const killed = await system.startSecondAuth(skewedClock(-60_000));
    expect(await bookOnce(bookings.base, await getToken(killed.base))).toBe(201);
    const bases = [killed.base, auth.base];
    const tokens: string[] = [];
    let retried = 0;
    const fetchTokens = async (index: number): Promise<void> => {
      for (let turn = index; turn < index + 20; turn += 1) {
        const issued = await getToken(bases[turn % 2] as string).catch((error: Error) => {
          // Only connection errors are allowed. A response without a token fails the test.
          expect(error.message).toMatch(/fetch failed|terminated/);
          retried += 1;
          return getToken(auth.base);
        });
        tokens.push(issued);
        if (tokens.length === 20) killed.child.kill('SIGKILL');
      }
    };
    await Promise.all([fetchTokens(0), fetchTokens(1), fetchTokens(2)]);
    expect(tokens).toHaveLength(60);
    expect(new Set(tokens).size).toBe(60);
    for (const issued of tokens) expect(await bookOnce(bookings.base, issued)).toBe(201);
    recordMeasurement('one of two instances of auth killed', { tokens: tokens.length, retried });
    await killed.stop('SIGKILL');
  });

  test('on SIGTERM, an instance of auth completes every accepted token request and exits with code 0', async () => {
    const stopping = await system.startSecondAuth(skewedClock(60_000));
    const before = (await system.database.query('auth', 'select now()')).rows[0].now;
    const requests = Array.from({ length: 20 }, () => getToken(stopping.base));
    // The instance gets the signal after the first response, while other requests are still in progress.
    const issuedAhead = await Promise.race(requests);
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
    // Bookings also accepts a token of a clock that is ahead.
    expect(await bookOnce(bookings.base, issuedAhead)).toBe(201);
    recordMeasurement('auth stopped', { issued });
  });
});

test('no request of four clients fails while the signing keys rotate twice, and no process restarts', async () => {
  const authInstances = [auth, await system.startSecondAuth()];
  const environment = { DATABASE_URL: system.database.urlOf('auth'), KEY_ENCRYPTION_KEY: keyEncryptionKey };
  const runKeysCommand = (subcommand: string) => runCommand('auth', environment, 'signing-keys.ts', '', [subcommand]);
  const keyIds = new Set<string>();
  const statuses: Record<number, number> = {};
  let isRunning = true;
  const client = async (index: number): Promise<void> => {
    for (let turn = index; isRunning; turn += 1) {
      const token = await getToken((authInstances[turn % authInstances.length] as Instance).base);
      const { kid } = decodeProtectedHeader(token) as { kid: string };
      keyIds.add(kid);
      const status = await bookOnce(bookings.base, token);
      statuses[status] = (statuses[status] ?? 0) + 1;
      // Without pauses, the clients would use the cores that the rotation needs.
      await pause(50);
    }
  };
  const clients = Promise.all([0, 1, 2, 3].map(client));
  try {
    for (const rotations of [1, 2]) {
      // The command prints a line for each key, with two spaces between the columns.
      expect(await runKeysCommand('rotate')).toMatch(/ES256 {2}next/);
      // A new key signs 30 s after its publication. Each instance reads the key table every 2 s, so 5 s are enough.
      const sooner = "update signing_key set signs_from = signs_from - interval '25 s' where state = 'next'";
      await system.database.query('auth', sooner);
      await eventually(async () => keyIds.size === rotations + 1);
    }
  } finally {
    isRunning = false;
  }
  await clients;
  expect(Object.keys(statuses)).toEqual(['201']);
  expect(statuses[201]).toBeGreaterThan(50);
  for (const { child } of [...authInstances, bookings]) expect(child.exitCode).toBeNull();
  expect((await runKeysCommand('list')).match(/ES256 {2}retired/g)).toHaveLength(2);
});
