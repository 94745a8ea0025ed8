// Tests how failed sign-ins are slowed down and locked out (docs/behaviour.md, "Sign-in protection").

import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuthServer, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

let server: AuthServer;
let otherInstance: { readonly origin: string };
beforeAll(async () => {
  server = await startAuthServer({
    LOCKOUT_ACCOUNT_FAILURES: '5',
    LOCKOUT_ADDRESS_FAILURES: '12',
    LOCKOUT_SLOW_DOWN_MS: '0',
    TRUST_PROXY: 'true',
  });
  otherInstance = await server.startInstance();
});
afterAll(() => server.close());

const password = 'demo-player-pass';
const username = 'player@example.com';

async function signInByGrant(name: string, secret: string, address: string, at = server.origin) {
  const response = await fetch(`${at}/connect/token`, {
    method: 'POST',
    headers: { 'X-Forwarded-For': address },
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'demo-native',
      scope: scopes.play,
      username: name,
      password: secret,
    }),
  });
  return { retryAfter: response.headers.get('retry-after'), ...(await statusAndBody(response)) } as Record<
    string,
    unknown
  >;
}

async function signInByPage(name: string, secret: string, address: string) {
  const browser = openFormBrowser([server.origin], { 'X-Forwarded-For': address });
  return browser.send(await browser.open(`${server.origin}/sign-in?return=/signed-out`), {
    username: name,
    password: secret,
  });
}

/** Sends failing sign-ins for one account, each from another IP address. */
const fail = async (times: number, name: string, network: string) => {
  for (let n = 1; n <= times; n++) await signInByGrant(name, 'wrong', `${network}.${n}`);
};
const resetCounts = () => server.db.raw('delete from guard_count');

describe('repeated failed sign-ins lock an account', () => {
  test('for the grant type password, at every instance, and even with the right password', async () => {
    await resetCounts();
    await fail(5, username, '198.51.100');
    for (const at of [server.origin, otherInstance.origin]) {
      const response = await signInByGrant(username, password, '203.0.113.9', at);
      expect(response).toMatchObject({ status: 429, retryAfter: expect.stringMatching(/^\d+$/) });
      expect(response.access_token).toBeUndefined();
    }
  });

  test('for the pages', async () => {
    await resetCounts();
    await fail(4, username, '198.51.100');
    expect((await signInByPage(username, 'wrong', '203.0.113.1')).status).toBe(400);
    const page = await signInByPage(username, password, '203.0.113.2');
    expect(page.status).toBe(429);
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(page.html).toContain('Too many sign-ins have failed');
  });

  test('for every spelling of the user name in upper and lower case', async () => {
    await resetCounts();
    await fail(5, 'Player@Example.COM ', '198.51.100');
    expect(await signInByGrant(username, password, '203.0.113.9')).toMatchObject({ status: 429 });
  });

  test('for a user name that contains NUL characters', async () => {
    await resetCounts();
    for (let n = 1; n <= 5; n++) await signInByGrant(`pl${'\0'.repeat(n)}ayer@example.com`, 'wrong', `198.51.100.${n}`);
    expect(await signInByGrant('player@example.com\0', password, '203.0.113.9')).toMatchObject({ status: 429 });
  });

  test('for a spelling that only the database treats as the same name', async () => {
    const account = { id: 'acc-greek', username: 'ΣΑΣ@example.com', password: 'seven unusual lamps' };
    await server.load({ accounts: [account] });
    await resetCounts();
    expect(await signInByGrant(account.username, account.password, '203.0.113.9')).toMatchObject({ status: 200 });
    await fail(5, 'σασ@example.com', '198.51.100');
    expect(await signInByGrant(account.username, account.password, '203.0.113.9')).toMatchObject({ status: 429 });
  });

  test('until the lockout ends', async () => {
    await resetCounts();
    await fail(5, username, '198.51.100');
    await server.db.raw('update guard_count set expire = ?', [Date.now() - 1]);
    expect(await signInByGrant(username, password, '203.0.113.9')).toMatchObject({ status: 200 });
  });

  test('only if no successful sign-in has reset the count', async () => {
    await resetCounts();
    await fail(4, username, '198.51.100');
    expect(await signInByGrant(username, password, '203.0.113.9')).toMatchObject({ status: 200 });
    await fail(4, username, '198.51.101');
    expect(await signInByGrant(username, password, '203.0.113.9')).toMatchObject({ status: 200 });
  });

  test('before more parallel attempts are checked than the limit allows', async () => {
    await resetCounts();
    const guesses = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        signInByGrant(username, 'wrong', `198.51.100.${n}`, n % 2 ? server.origin : otherInstance.origin),
      ),
    );
    const checked = guesses.filter(({ status }) => status === 400);
    expect(checked.length).toBeLessThanOrEqual(5);
    expect(guesses.every(({ status }) => status === 400 || status === 429)).toBe(true);
  });
});

describe('the response never reveals whether the account exists', () => {
  test('for the grant type password and the page, before and during the lockout', async () => {
    await resetCounts();
    const unknown = 'nobody@example.com';
    for (let n = 1; n <= 7; n++) {
      const [ofKnown, ofUnknown] = await Promise.all([
        signInByGrant(username, 'wrong', `198.51.100.${n}`),
        signInByGrant(unknown, 'wrong', `198.51.101.${n}`),
      ]);
      expect({ ...ofKnown, retryAfter: null }).toEqual({ ...ofUnknown, retryAfter: null });
      expect(ofKnown?.retryAfter === null).toBe(ofUnknown?.retryAfter === null);
    }
    const [knownPage, unknownPage] = await Promise.all([
      signInByPage(username, 'wrong', '203.0.113.3'),
      signInByPage(unknown, 'wrong', '203.0.113.4'),
    ]);
    const withoutDifferences = (html: string): string =>
      html.replace(/name="csrf" value="[^"]*"/g, '').replaceAll(username, unknown);
    expect(withoutDifferences(knownPage.html)).toBe(withoutDifferences(unknownPage.html));
  });

  // U+0130 and U+03A3 have different lower-case letters in JavaScript and in the database.
  test.each([
    ['NUL', 'pl\0ayer@example.com', 'nob\0ody@example.com'],
    ['capitals', 'PLAYER@EXAMPLE.COM', 'NOBODY@EXAMPLE.COM'],
    ['spaces', ' player@example.com ', ' nobody@example.com '],
    ['U+0130', 'i\u0130@example.com', 'j\u0130@example.com'],
    ['U+03A3', 'i\u03a3@example.com', 'j\u03a3@example.com'],
  ])('when failures are counted under one spelling and tried under another: %s', async (_title, known, unknown) => {
    const folded = async (name: string): Promise<string> => {
      const { rows } = await server.db.raw('select lower(?) as name', [name.replaceAll('\0', '').trim()]);
      return String(rows[0].name);
    };
    if ((await folded(known)) !== username) {
      await server.load({ accounts: [{ id: `acc-${Buffer.from(known).toString('hex')}`, username: known }] });
    }
    const statuses = async (name: string, network: string): Promise<unknown[]> => {
      await fail(5, name, network);
      const other = await folded(name);
      return [
        (await signInByGrant(other, 'wrong', `${network}.99`)).status,
        (await signInByGrant(name, 'wrong', `${network}.99`)).status,
      ];
    };
    await resetCounts();
    expect(await statuses(unknown, '198.51.101')).toEqual([429, 429]);
    expect(await statuses(known, '198.51.100')).toEqual([429, 429]);
  });

  test('in its response time', async () => {
    const time = async (username: string): Promise<number> => {
      await resetCounts();
      const started = performance.now();
      await signInByGrant(username, 'wrong', '198.51.100.1');
      return performance.now() - started;
    };
    await time('warm@example.com');
    const times: [number, number][] = [];
    for (let pair = 0; pair < 12; pair += 1) times.push([await time(username), await time('nobody@example.com')]);
    const medianOf = (which: 0 | 1) => times.map((pair) => pair[which]).toSorted((a, b) => a - b)[6] as number;
    const [ofKnown, ofUnknown] = [medianOf(0), medianOf(1)];
    // Without the dummy hash (accounts/passwords.ts), the response for an unknown account would be much faster.
    expect(Math.min(ofKnown, ofUnknown) / Math.max(ofKnown, ofUnknown)).toBeGreaterThan(0.5);
  });

  test('for a password reset', async () => {
    const requestReset = async (name: string) => {
      const browser = openFormBrowser([server.origin]);
      const page = await browser.send(await browser.open(`${server.origin}/reset-password`), { username: name });
      return { status: page.status, html: page.html.replaceAll(name, 'X') };
    };
    expect(await requestReset(username)).toEqual(await requestReset('nobody@example.com'));
  });
});

describe('a browser in which the account has signed in before', () => {
  const signInForm = '/sign-in?return=/signed-out';
  const knownBrowser = async () => {
    const browser = openFormBrowser([server.origin], { 'X-Forwarded-For': '203.0.113.20' });
    const page = await browser.send(await browser.open(server.origin + signInForm), { username, password });
    await browser.send(await browser.open(`${server.origin}/account`), {}, 'Sign out');
    return { browser, page };
  };

  test('is not locked out by failed sign-ins in other browsers', async () => {
    await resetCounts();
    const { browser } = await knownBrowser();
    await fail(5, username, '198.51.100');
    expect((await signInByPage(username, password, '203.0.113.21')).status).toBe(429);
    const page = await browser.send(await browser.open(server.origin + signInForm), { username, password });
    expect(page.status).toBe(200);
  });

  test('is locked out by its own failed sign-ins, which do not lock out other browsers', async () => {
    await resetCounts();
    const { browser } = await knownBrowser();
    const attempt = async (secret: string) =>
      (await browser.send(await browser.open(server.origin + signInForm), { username, password: secret })).status;
    for (let n = 0; n < 5; n++) expect(await attempt('wrong')).toBe(400);
    expect(await attempt(password)).toBe(429);
    expect((await signInByPage(username, password, '203.0.113.22')).status).toBe(200);
  });

  test('has its own count for this account only', async () => {
    await resetCounts();
    const { browser } = await knownBrowser();
    await fail(5, 'owner@north.example', '198.51.100');
    const form = { username: 'owner@north.example', password: 'demo-owner-pass' };
    expect((await browser.send(await browser.open(server.origin + signInForm), form)).status).toBe(429);
  });
});

describe('an address is locked', () => {
  test('after failures with many user names; IPv6 addresses of one /64 network count as one address', async () => {
    await resetCounts();
    for (let n = 1; n <= 12; n++) await signInByGrant(`nobody${n}@example.com`, 'wrong', `2001:db8:1:2::${n}`);
    expect(await signInByGrant(username, password, '2001:db8:1:2:ffff::1')).toMatchObject({ status: 429 });
    expect(await signInByGrant(username, password, '2001:db8:1:3::1')).toMatchObject({ status: 200 });
  });

  test('but not after successful sign-ins, because many users can share one address', async () => {
    await resetCounts();
    const responses = await Promise.all(
      Array.from({ length: 60 }, () => signInByGrant(username, password, '192.0.2.1')),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

test('after a few failures, a sign-in takes longer', async () => {
  const slow = await startAuthServer({ LOCKOUT_SLOW_DOWN_MS: '150' });
  const measure = async (): Promise<number> => {
    const started = performance.now();
    await signInByGrant(username, 'wrong', '192.0.2.1', slow.origin);
    return performance.now() - started;
  };
  for (let n = 0; n < 4; n++) await measure();
  expect(await measure()).toBeGreaterThanOrEqual(295);
  await slow.close();
});

test('an unknown user name is not stored, because users sometimes type a password into that field', async () => {
  await signInByGrant('hunter2-typed-in-the-wrong-field', 'wrong', '192.0.2.77');
  await server.auth.waitUntilIdle();
  const { rows } = await server.db.raw(
    'select (select json_agg(g) from guard_count g) as counts, (select json_agg(a) from audit_event a) as events',
  );
  expect(JSON.stringify(rows)).not.toContain('hunter2');
  expect(server.log.join('\n')).not.toContain('hunter2');
});
