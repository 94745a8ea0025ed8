// Tests how failed sign-ins slow down and lock out further sign-ins (docs/behaviour-auth.md, "Sign-in protection").
import { useFixture } from '@bay-booking/testkit/fixture';
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { scopes, startAuthServer, statusAndBody } from './auth-server.ts';

// With low limits, few failed sign-ins lead to a lockout. Without the slow-down, the tests take less time.
const lockout = { accountFailures: 5, addressFailures: 12 };
const server = useFixture(() => startAuthServer({ TRUST_PROXY: 'true' }, { lockout }));
let otherInstance: { readonly origin: string };
beforeAll(async () => {
  otherInstance = await server.startInstance();
});

const password = 'demo-player-pass';
const username = 'player@example.com';
const passwordGrant = { grant_type: 'password', client_id: 'demo-native', scope: scopes.play };

/** Signs in with the grant type password, from this IP address. Returns the status, Retry-After and the body. */
async function signInByGrant(name: string, secret: string, address: string, at = server.origin) {
  const response = await fetch(`${at}/connect/token`, {
    method: 'POST',
    headers: { 'X-Forwarded-For': address },
    body: new URLSearchParams({ ...passwordGrant, username: name, password: secret }),
  });
  return Object.assign(await statusAndBody(response), { retryAfter: response.headers.get('retry-after') });
}

async function signInByPage(name: string, secret: string, address: string) {
  const browser = openFormBrowser([server.origin], { 'X-Forwarded-For': address });
  // After a successful sign-in, `return` leads to a simple page with the status 200.
  return browser.submit('/sign-in?return=/signed-out', { username: name, password: secret });
}

/** Sends several sign-ins with a wrong password for one user name, each from another IP address of `network`. */
const failSignIns = async (times: number, name: string, network: string) => {
  for (let n = 1; n <= times; n++) await signInByGrant(name, 'wrong', `${network}.${n}`);
};
const resetCounts = () => server.db('guard_count').delete();
beforeEach(resetCounts);

test('a client cannot choose its IP address in front of the one that the proxy adds', async () => {
  for (let n = 0; n < 12; n++) await signInByGrant(`nobody-${n}`, 'wrong', `192.0.2.${n}, 198.51.100.200`);
  expect(await signInByGrant('nobody-12', 'wrong', '192.0.2.99, 198.51.100.200')).toMatchObject({ status: 429 });
  expect(await signInByGrant('nobody-13', 'wrong', '192.0.2.1')).toMatchObject({ status: 400 });
});

describe('repeated failed sign-ins', () => {
  test('an account is locked for the grant type password at every instance, even with the right password', async () => {
    await failSignIns(5, username, '198.51.100');
    for (const at of [server.origin, otherInstance.origin]) {
      const response = await signInByGrant(username, password, '203.0.113.9', at);
      expect(response).toMatchObject({ status: 429, retryAfter: expect.stringMatching(/^\d+$/) });
      expect(response.access_token).toBeUndefined();
    }
  });

  test('an account is locked on the sign-in page', async () => {
    await failSignIns(4, username, '198.51.100');
    expect((await signInByPage(username, 'wrong', '203.0.113.1')).status).toBe(400);
    const page = await signInByPage(username, password, '203.0.113.2');
    expect(page.status).toBe(429);
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(page.html).toContain('Too many sign-ins have failed');
  });

  test.each([
    ['ΟΔΟΣ@ZÜRICH.example', 'οδος@xn--zrich-kva.example'],
    ['Player@Example.COM', 'pl\0ayer@example.com'],
  ])('%s and another spelling are one account, with one count of failed sign-ins', async (registered, spelling) => {
    await server.load({ accounts: [{ id: 'acc-spelled', username: `x${registered}`, password }] });
    const [first, second] = [`x${registered}`, `x${spelling.trimStart()}`];
    expect(await signInByGrant(second, password, '203.0.113.9')).toMatchObject({ status: 200 });
    await failSignIns(3, second, '198.51.100');
    await failSignIns(2, first, '198.51.101');
    for (const name of [first, second])
      expect(await signInByGrant(name, password, '203.0.113.9')).toMatchObject({ status: 429 });
  });

  test('an account is unlocked when the time of the lockout has passed', async () => {
    await failSignIns(5, username, '198.51.100');
    await server.db.raw('update guard_count set expire = ?', [Date.now() - 1]);
    expect(await signInByGrant(username, password, '203.0.113.9')).toMatchObject({ status: 200 });
  });

  test('a successful sign-in resets the count of failed sign-ins', async () => {
    await failSignIns(4, username, '198.51.100');
    expect(await signInByGrant(username, password, '203.0.113.9')).toMatchObject({ status: 200 });
    await failSignIns(4, username, '198.51.101');
    expect(await signInByGrant(username, password, '203.0.113.9')).toMatchObject({ status: 200 });
  });

  test('of 16 parallel attempts, at most five learn that the password is wrong', async () => {
    // Every second attempt goes to the other instance.
    const guess = (_: unknown, n: number) =>
      signInByGrant(username, 'wrong', `198.51.100.${n}`, n % 2 ? server.origin : otherInstance.origin);
    const guesses = await Promise.all(Array.from({ length: 16 }, guess));
    const rejectedPasswords = guesses.filter(({ status }) => status === 400);
    expect(rejectedPasswords.length).toBeLessThanOrEqual(5);
    expect(guesses.every(({ status }) => status === 400 || status === 429)).toBe(true);
  });
});

describe('whether an account exists', () => {
  const withoutName = (html: string, name: string): string =>
    html.replace(/name="csrf" value="[^"]*"/g, '').replaceAll(name, 'X');

  test('sign-in responses do not reveal whether an account exists, before and during the lockout', async () => {
    const unknown = 'nobody@example.com';
    // Five failures lock a name, so the last two attempts happen during the lockout.
    for (let n = 1; n <= 7; n++) {
      const [ofKnown, ofUnknown] = await Promise.all([
        signInByGrant(username, 'wrong', `198.51.100.${n}`),
        signInByGrant(unknown, 'wrong', `198.51.101.${n}`),
      ]);
      // The two lockouts may begin in different seconds, so only the presence of Retry-After must be equal.
      expect({ ...ofKnown, retryAfter: null }).toEqual({ ...ofUnknown, retryAfter: null });
      expect(ofKnown.retryAfter === null).toBe(ofUnknown.retryAfter === null);
    }
    const pageFor = async (name: string) => withoutName((await signInByPage(name, 'wrong', '203.0.113.3')).html, name);
    expect(await pageFor(username)).toBe(await pageFor(unknown));
  });

  test('the sign-in page shows the same error for unknown, disabled and service accounts', async () => {
    await server.load({ accounts: [{ id: 'acc-gone', username: 'gone@example.com', disabled: true }] });
    const errorFor = async (name: string) => withoutName((await signInByPage(name, 'wrong', '203.0.113.5')).html, name);
    const unknown = await errorFor('nobody@example.com');
    for (const name of ['gone@example.com', 'bot@north.example']) expect(await errorFor(name)).toBe(unknown);
  });

  test('the response time of a failed sign-in does not reveal whether the account exists', async () => {
    const measure = async (name: string): Promise<number> => {
      // After a lockout, no password would be verified.
      await resetCounts();
      const started = performance.now();
      expect(await signInByGrant(name, 'wrong', '198.51.100.1')).toMatchObject({ status: 400 });
      return performance.now() - started;
    };
    // The hashes of the test server's accounts are cheaper than those of the service.
    await server.load({ accounts: [{ id: 'acc-known', username: 'known@example.com', password: 'known-password' }] });
    // Other programs can only make a response slower, so the fastest ones are compared.
    let [ofKnown, ofUnknown] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    const ratio = () => Math.min(ofKnown, ofUnknown) / Math.max(ofKnown, ofUnknown);
    for (let round = 0; round < 12 || (round < 60 && ratio() < 0.5); round += 1) {
      ofKnown = Math.min(ofKnown, await measure('known@example.com'));
      ofUnknown = Math.min(ofUnknown, await measure('nobody@example.com'));
    }
    // Without the dummy hash (accounts/passwords.ts), the response for an unknown account would be much faster.
    expect(ratio()).toBeGreaterThan(0.5);
  });

  test('the page for a password reset does not reveal whether an account exists', async () => {
    const requestReset = async (name: string) => {
      const browser = openFormBrowser([server.origin]);
      const page = await browser.submit('/reset-password', { username: name });
      return { status: page.status, html: page.html.replaceAll(name, 'X') };
    };
    expect(await requestReset(username)).toEqual(await requestReset('nobody@example.com'));
  });
});

describe('a browser in which the account has signed in before', () => {
  const signInForm = '/sign-in?return=/signed-out';
  /** Signs in and out in a new browser, which the server then knows. */
  const openKnownBrowser = async () => {
    const browser = openFormBrowser([server.origin], { 'X-Forwarded-For': '203.0.113.20' });
    await browser.submit(signInForm, { username, password });
    await browser.submit('/account', {}, 'Sign out');
    return browser;
  };

  test('a known browser is not locked out by failed sign-ins in other browsers, also at its IP address', async () => {
    const browser = await openKnownBrowser();
    await failSignIns(5, username, '198.51.100');
    for (let n = 0; n < 12; n++) await signInByGrant(`nobody-${n}`, 'wrong', '203.0.113.20');
    for (const address of ['203.0.113.20', '203.0.113.21'])
      expect((await signInByPage(username, password, address)).status).toBe(429);
    const page = await browser.submit(signInForm, { username, password });
    expect(page.status).toBe(200);
  });

  test('a known browser is locked out by its own failed sign-ins, until the time of the lockout has passed', async () => {
    const browser = await openKnownBrowser();
    const attempt = async (secret: string) => (await browser.submit(signInForm, { username, password: secret })).status;
    for (let n = 0; n < 5; n++) expect(await attempt('wrong')).toBe(400);
    expect(await attempt(password)).toBe(429);
    expect((await signInByPage(username, password, '203.0.113.22')).status).toBe(200);
    await server.db.raw('update guard_count set expire = ?', [Date.now() - 1]);
    expect(await attempt(password)).toBe(200);
  });

  test('a known browser has its own count only for the account that has signed in', async () => {
    const browser = await openKnownBrowser();
    await failSignIns(5, 'owner@north.example', '198.51.100');
    const form = { username: 'owner@north.example', password: 'demo-owner-pass' };
    expect((await browser.submit(signInForm, form)).status).toBe(429);
  });
});

describe('failed sign-ins from one IP address', () => {
  test('failures with many user names lock the /64 network of an IPv6 address', async () => {
    for (let n = 1; n <= 12; n++) await signInByGrant(`nobody${n}@example.com`, 'wrong', `2001:db8:1:2::${n}`);
    expect(await signInByGrant(username, password, '2001:db8:1:2:ffff::1')).toMatchObject({ status: 429 });
    expect(await signInByGrant(username, password, '2001:db8:1:3::1')).toMatchObject({ status: 200 });
  });

  test('successful sign-ins do not lock an address, because many users can share one address', async () => {
    const signIn = () => signInByGrant(username, password, '192.0.2.1');
    const responses = await Promise.all(Array.from({ length: 16 }, signIn));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

// The first three failures slow nothing down. The fourth attempt waits for 150 ms, and the fifth for twice as long.
// Timers of Node can end slightly too early.
test('with a delay of 150 ms, the fifth sign-in waits for 300 ms, because four have failed before', async () => {
  const slow = await startAuthServer({}, { lockout: { slowDownMs: 150 } });
  const measure = async (): Promise<number> => {
    const started = performance.now();
    await signInByGrant(username, 'wrong', '192.0.2.1', slow.origin);
    return performance.now() - started;
  };
  for (let n = 0; n < 4; n++) await measure();
  expect(await measure()).toBeGreaterThanOrEqual(295);

  // During the delay, other attempts reach the limit. The response then does not say that the password is right.
  const waiting = signInByGrant(username, password, '192.0.2.1', slow.origin);
  await slow.token(passwordGrant);
  await slow.db('guard_count').update({ points: 1_000 });
  expect(await waiting).toMatchObject({ status: 429 });
  await slow.close();
});

test('an unknown user name is not stored, because users sometimes type a password into that field', async () => {
  await signInByGrant('hunter2-typed-in-the-wrong-field', 'wrong', '192.0.2.77');
  await server.auth.waitUntilIdle();
  const stored = [await server.db('guard_count'), await server.db('audit_event')];
  expect(JSON.stringify(stored)).not.toContain('hunter2');
  expect(server.log.join('\n')).not.toContain('hunter2');
});
