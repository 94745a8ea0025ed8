// Contract section 6: repeated failed sign-ins slow down and then lock out, per account and per address, over every instance, for the
// pages and for the `password` grant alike; the answer never says whether the account exists.

import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuthServer, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

let server: AuthServer;
let elsewhere: { readonly origin: string };
beforeAll(async () => {
  server = await startAuthServer({
    LOCKOUT_ACCOUNT_FAILURES: '5',
    LOCKOUT_ADDRESS_FAILURES: '12',
    LOCKOUT_SLOW_DOWN_MS: '0',
    TRUST_PROXY: 'true',
  });
  elsewhere = await server.startInstance();
});
afterAll(() => server.close());

const right = 'demo-player-pass';
const known = 'player@example.com';

async function byGrant(username: string, password: string, address: string, at = server.origin) {
  const response = await fetch(`${at}/connect/token`, {
    method: 'POST',
    headers: { 'X-Forwarded-For': address },
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'demo-native',
      scope: scopes.play,
      username,
      password,
    }),
  });
  return { retryAfter: response.headers.get('retry-after'), ...(await statusAndBody(response)) } as Record<
    string,
    unknown
  >;
}

async function byPage(username: string, password: string, address: string) {
  const browser = openFormBrowser([server.origin], { 'X-Forwarded-For': address });
  return browser.send(await browser.open(`${server.origin}/sign-in?return=/signed-out`), { username, password });
}

/** Of one account from ever new addresses; counts are per test by their names. */
const fail = async (times: number, username: string, network: string) => {
  for (let n = 1; n <= times; n++) await byGrant(username, 'wrong', `${network}.${n}`);
};
const forget = () => server.db.raw('delete from guard_count');

describe('repeated failed sign-ins lock an account out', () => {
  test('for the password grant, on every instance, with Retry-After, even with the right password', async () => {
    await forget();
    await fail(5, known, '198.51.100');
    for (const at of [server.origin, elsewhere.origin]) {
      const answer = await byGrant(known, right, '203.0.113.9', at);
      expect(answer).toMatchObject({ status: 429, retryAfter: expect.stringMatching(/^\d+$/) });
      expect(answer.access_token).toBeUndefined();
    }
  });

  test('and for the pages alike', async () => {
    await forget();
    await fail(4, known, '198.51.100');
    expect((await byPage(known, 'wrong', '203.0.113.1')).status).toBe(400);
    const page = await byPage(known, right, '203.0.113.2');
    expect(page.status).toBe(429);
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(page.html).toContain('Too many sign-ins have failed');
  });

  test('a name in other letters is the same account', async () => {
    await forget();
    await fail(5, 'Player@Example.COM ', '198.51.100');
    expect(await byGrant(known, right, '203.0.113.9')).toMatchObject({ status: 429 });
  });

  test('a name with NUL in it, which is looked up without, is the same account', async () => {
    await forget();
    for (let n = 1; n <= 5; n++) await byGrant(`pl${'\0'.repeat(n)}ayer@example.com`, 'wrong', `198.51.100.${n}`);
    expect(await byGrant('player@example.com\0', right, '203.0.113.9')).toMatchObject({ status: 429 });
  });

  test('nor do other letters that the database takes for the same, which sign in as they were registered', async () => {
    const account = { id: 'acc-greek', username: 'ΣΑΣ@example.com', password: 'seven unusual lamps' };
    await server.load({ accounts: [account] });
    await forget();
    expect(await byGrant(account.username, account.password, '203.0.113.9')).toMatchObject({ status: 200 });
    await fail(5, 'σασ@example.com', '198.51.100');
    expect(await byGrant(account.username, account.password, '203.0.113.9')).toMatchObject({ status: 429 });
  });

  test('no longer than the lock-out', async () => {
    await forget();
    await fail(5, known, '198.51.100');
    await server.db.raw('update guard_count set expire = ?', [Date.now() - 1]);
    expect(await byGrant(known, right, '203.0.113.9')).toMatchObject({ status: 200 });
  });

  test('a success in time starts the count anew', async () => {
    await forget();
    await fail(4, known, '198.51.100');
    expect(await byGrant(known, right, '203.0.113.9')).toMatchObject({ status: 200 });
    await fail(4, known, '198.51.101');
    expect(await byGrant(known, right, '203.0.113.9')).toMatchObject({ status: 200 });
  });

  test('of many guesses at once, no more than the limit are answered', async () => {
    await forget();
    const guesses = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        byGrant(known, 'wrong', `198.51.100.${n}`, n % 2 ? server.origin : elsewhere.origin),
      ),
    );
    const told = guesses.filter(({ status }) => status === 400);
    expect(told.length).toBeLessThanOrEqual(5);
    expect(guesses.every(({ status }) => status === 400 || status === 429)).toBe(true);
  });
});

describe('the answer never says whether the account exists', () => {
  test('before and after the lock-out, to the grant and on the page', async () => {
    await forget();
    const unknown = 'nobody@example.com';
    for (let n = 1; n <= 7; n++) {
      const [ofKnown, ofUnknown] = await Promise.all([
        byGrant(known, 'wrong', `198.51.100.${n}`),
        byGrant(unknown, 'wrong', `198.51.101.${n}`),
      ]);
      expect({ ...ofKnown, retryAfter: null }).toEqual({ ...ofUnknown, retryAfter: null });
      expect(ofKnown?.retryAfter === null).toBe(ofUnknown?.retryAfter === null);
    }
    const [knownPage, unknownPage] = await Promise.all([
      byPage(known, 'wrong', '203.0.113.3'),
      byPage(unknown, 'wrong', '203.0.113.4'),
    ]);
    const withoutItsOwn = (html: string): string =>
      html.replace(/name="csrf" value="[^"]*"/g, '').replaceAll(known, unknown);
    expect(withoutItsOwn(knownPage.html)).toBe(withoutItsOwn(unknownPage.html));
  });

  test('nor in how long it takes', async () => {
    const time = async (username: string): Promise<number> => {
      await forget();
      const started = performance.now();
      await byGrant(username, 'wrong', '198.51.100.1');
      return performance.now() - started;
    };
    await time('warm@example.com');
    const times: [number, number][] = [];
    for (let pair = 0; pair < 12; pair += 1) times.push([await time(known), await time('nobody@example.com')]);
    const medianOf = (which: 0 | 1) => times.map((pair) => pair[which]).toSorted((a, b) => a - b)[6] as number;
    const [ofKnown, ofUnknown] = [medianOf(0), medianOf(1)];
    // Without the dummy hash an unknown account would answer in a small part of the time.
    expect(Math.min(ofKnown, ofUnknown) / Math.max(ofKnown, ofUnknown)).toBeGreaterThan(0.5);
  });

  test('resetting a password tells nothing either', async () => {
    const ask = async (username: string) => {
      const browser = openFormBrowser([server.origin]);
      const page = await browser.send(await browser.open(`${server.origin}/reset-password`), { username });
      return { status: page.status, html: page.html.replaceAll(username, 'X') };
    };
    expect(await ask(known)).toEqual(await ask('nobody@example.com'));
  });
});

describe('an address is locked out', () => {
  test('after failures over many accounts, IPv6 by its /64', async () => {
    await forget();
    for (let n = 1; n <= 12; n++) await byGrant(`nobody${n}@example.com`, 'wrong', `2001:db8:1:2::${n}`);
    expect(await byGrant(known, right, '2001:db8:1:2:ffff::1')).toMatchObject({ status: 429 });
    expect(await byGrant(known, right, '2001:db8:1:3::1')).toMatchObject({ status: 200 });
  });

  test('never for successes: a busy partner signs in hundreds of times a minute', async () => {
    await forget();
    const answers = await Promise.all(Array.from({ length: 60 }, () => byGrant(known, right, '192.0.2.1')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

test('after a few failures the answer takes longer', async () => {
  const slow = await startAuthServer({ LOCKOUT_SLOW_DOWN_MS: '150' });
  const ask = async (): Promise<number> => {
    const started = performance.now();
    await byGrant(known, 'wrong', '192.0.2.1', slow.origin);
    return performance.now() - started;
  };
  for (let n = 0; n < 4; n++) await ask();
  expect(await ask()).toBeGreaterThanOrEqual(295);
  await slow.close();
});

test('what was typed as a user name is kept nowhere: people type passwords there', async () => {
  await byGrant('hunter2-typed-in-the-wrong-field', 'wrong', '192.0.2.77');
  await server.auth.settle();
  const { rows } = await server.db.raw(
    'select (select json_agg(g) from guard_count g) as counts, (select json_agg(a) from audit_event a) as events',
  );
  expect(JSON.stringify(rows)).not.toContain('hunter2');
  expect(server.log.join('\n')).not.toContain('hunter2');
});
