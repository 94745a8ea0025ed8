// Tests authenticator apps and recovery codes, and that no way to sign in leads around a second factor
// (docs/sign-in-security.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import { openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuthServer, eventually, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { createDevice } from './device-fixture.ts';
import { codeOf, forgetUsedCodes, setUpApp, wrongCodeFor } from './factors-fixture.ts';
import { authorizeUrl, redirectParameters, webRequest } from './flows.ts';
import { type SocialServer, startSocialServer } from './social-server.ts';
import { password, registerUser, signInUser, type TestUser } from './test-users.ts';

const fixture: SocialServer = useFixture(() =>
  startSocialServer((environment) => startAuthServer({ ...environment, LOCKOUT_SLOW_DOWN_MS: '0' })),
);
let server: AuthServer;
beforeAll(() => {
  server = fixture.server;
});
afterEach(async () => {
  await server.db('guard_count').del();
});

interface SecureUser extends TestUser {
  readonly secret: string;
  readonly recoveryCodes: readonly string[];
}

/** Registers a user with an authenticator app, whose current code can still be used. */
async function registerSecureUser(): Promise<SecureUser> {
  const user = await registerUser(server);
  const { secret, recoveryCodes } = await setUpApp(server, user.browser);
  await forgetUsedCodes(server);
  return { ...user, secret, recoveryCodes };
}

const asksForCode = ({ url }: Page): boolean => url.pathname === '/sign-in/second-factor';
const isSignedIn = async ({ browser }: Pick<TestUser, 'browser'>): Promise<boolean> =>
  (await browser.open(`${server.origin}/account`)).url.pathname === '/account';
const auditKinds = async (kind: string): Promise<number> => {
  await server.auth.waitUntilIdle();
  return Number((await server.db('audit_event').where({ kind }).count())[0]?.count);
};
interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}
const mailTo = (to: string, subject: RegExp): Promise<Mail> =>
  eventually(async () =>
    server.log
      .map((line) => JSON.parse(line).mail as Mail | undefined)
      .find((mail) => mail?.to === to && subject.test(mail.subject)),
  );

describe('the set-up', () => {
  test('a code confirms the secret, and the recovery codes are shown once', async () => {
    const user = await registerUser(server);
    const form = await user.browser.open(`${server.origin}/account/security/authenticator`);
    expect(form.html).toContain('<svg');
    const wrong = await user.browser.send(form, { code: '12345' });
    expect([wrong.status, wrong.html.includes('The code is wrong')]).toEqual([400, true]);
    const { secret, recoveryCodes } = await setUpApp(server, user.browser);
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(new Set(recoveryCodes).size).toBe(10);
    const again = await user.browser.open(`${server.origin}/account/security`);
    expect(recoveryCodes.some((code) => again.html.includes(code))).toBe(false);
    expect((await mailTo(user.username, /authenticator app was added/)).text).toContain('/account/security');
    expect(await auditKinds('factor.added')).toBeGreaterThan(0);
    // The database contains neither the secret nor a code.
    const { rows } = await server.db.raw('select a::text || r::text as row from authenticator_app a, recovery_code r');
    expect(
      rows.some(({ row }: { row: string }) => row.includes(secret) || row.includes(String(recoveryCodes[0]))),
    ).toBe(false);
  });

  test('the code that confirmed the set-up counts as used, and so do earlier codes', async () => {
    const user = await registerUser(server);
    const { secret } = await setUpApp(server, user.browser);
    const { browser, account: page } = await signInUser(server, user.username);
    const refused = await browser.send(page, { code: codeOf(secret, -1) });
    expect(asksForCode(await browser.send(refused, { code: codeOf(secret) }))).toBe(true);
    expect((await browser.send(refused, { code: codeOf(secret, 1) })).url.pathname).toBe('/account');
  });

  test('it ends no other session, but a session with only a password must add the code to change factors', async () => {
    const user = await registerUser(server);
    const other = await signInUser(server, user.username);
    const { secret } = await setUpApp(server, user.browser);
    await forgetUsedCodes(server);
    expect(await isSignedIn(other)).toBe(true);
    const security = await other.browser.open(`${server.origin}/account/security`);
    const asked = await other.browser.send(security, {}, 'Remove the authenticator app');
    expect(asksForCode(asked)).toBe(true);
    const back = await other.browser.send(asked, { code: codeOf(secret) });
    expect(back.url.pathname).toBe('/account/security');
    const removed = await other.browser.send(back, {}, 'Remove the authenticator app');
    expect(removed.html).toContain('The authenticator app is removed');
    expect((await signInUser(server, user.username)).account.url.pathname).toBe('/account');
    expect((await mailTo(user.username, /authenticator app was removed/)).text).toContain('It was not me');
  });

  test('a sign-in of eleven minutes ago must be repeated with both factors', async () => {
    const user = await registerSecureUser();
    await server.db.raw(
      `update oidc_artifact set payload = jsonb_set(payload, '{loginTs}', to_jsonb(extract(epoch from now())::int - 660))
        where model = 'Session'`,
    );
    const security = await user.browser.open(`${server.origin}/account/security`);
    const signIn = await user.browser.send(security, {}, 'Create new recovery codes');
    expect(signIn.title).toMatch(/^Confirm that it is you/);
    const asked = await user.browser.send(signIn, { password });
    expect(asksForCode(asked)).toBe(true);
    const back = await user.browser.send(asked, { code: codeOf(user.secret) });
    const codes = await user.browser.send(back, {}, 'Create new recovery codes');
    expect(codes.title).toMatch(/^Your new recovery codes/);
    // New codes end the old ones.
    const { browser, account: page } = await signInUser(server, user.username);
    expect(asksForCode(await browser.send(page, { code: String(user.recoveryCodes[0]) }))).toBe(true);
  });
});

describe('a code works once', () => {
  test.each(['authenticator app', 'recovery code'] as const)(
    'of 32 parallel requests: %s',
    async (kind) => {
      const user = await registerSecureUser();
      const code = kind === 'recovery code' ? String(user.recoveryCodes[3]).toUpperCase() : codeOf(user.secret);
      const browsers = await Promise.all(Array.from({ length: 32 }, () => signInUser(server, user.username)));
      await server.db('guard_count').del();
      const pages = await Promise.all(browsers.map(({ browser, account: page }) => browser.send(page, { code })));
      expect(pages.filter(({ url }) => url.pathname === '/account')).toHaveLength(1);
      const signedIn = await Promise.all(browsers.map((browser) => isSignedIn(browser)));
      expect(signedIn.filter(Boolean)).toHaveLength(1);
    },
    60_000,
  );

  test('a used recovery code is gone, and the user gets a mail', async () => {
    const user = await registerSecureUser();
    const first = await signInUser(server, user.username);
    const code = String(user.recoveryCodes[0]);
    expect((await first.browser.send(first.account, { code })).url.pathname).toBe('/account');
    const second = await signInUser(server, user.username);
    expect(asksForCode(await second.browser.send(second.account, { code }))).toBe(true);
    await mailTo(user.username, /recovery code was used \(9 left\)/);
  });
});

describe('wrong codes', () => {
  test('count in the guard of the account, which a right password does not reset', async () => {
    const user = await registerSecureUser();
    const wrong = wrongCodeFor(user.secret);
    let last: Page | undefined;
    for (let attempt = 0; attempt < 11; attempt++) {
      const { browser, account: page } = await signInUser(server, user.username);
      last = asksForCode(page) ? await browser.send(page, { code: wrong }) : page;
    }
    expect(last?.status).toBe(429);
    expect(last?.headers.get('retry-after')).toMatch(/^\d+$/);
    // Neither the right password, nor a reset of the password, nor a recovery code ends the lock.
    expect((await signInUser(server, user.username)).account.status).toBe(429);
  });

  test('also in parallel, a right code does not pass after ten wrong ones', async () => {
    const user = await registerSecureUser();
    const { browser, account: page } = await signInUser(server, user.username);
    const wrong = wrongCodeFor(user.secret);
    await Promise.all(Array.from({ length: 12 }, () => browser.send(page, { code: wrong })));
    const refused = await browser.send(page, { code: codeOf(user.secret) });
    expect(refused.status).toBe(429);
    expect(await isSignedIn({ browser })).toBe(false);
  });

  test('a complete sign-in resets the count', async () => {
    const user = await registerSecureUser();
    for (let round = 0; round < 2; round++) {
      const { browser, account: page } = await signInUser(server, user.username);
      for (let attempt = 0; attempt < 6; attempt++) await browser.send(page, { code: wrongCodeFor(user.secret) });
      await forgetUsedCodes(server);
      expect((await browser.send(page, { code: codeOf(user.secret) })).url.pathname).toBe('/account');
    }
  });
});

describe('a half sign-in', () => {
  test('belongs to its browser, and ends after ten minutes and when the password changes', async () => {
    const user = await registerSecureUser();
    const { browser, account: page } = await signInUser(server, user.username);
    expect(await isSignedIn({ browser })).toBe(false);
    const stranger = openFormBrowser([server.origin]);
    expect((await stranger.open(page.url)).status).toBe(400);
    await server.db.raw(`update half_sign_in set expires_at = expires_at - interval '10 minutes 1 second'`);
    expect((await browser.send(page, { code: codeOf(user.secret) })).status).toBe(400);
    expect(await isSignedIn({ browser })).toBe(false);
  });

  test('two tabs of one browser each return to where they began', async () => {
    const user = await registerSecureUser();
    const browser = openFormBrowser([server.origin]);
    const credentials = { username: user.username, password };
    const begin = async (path: string) =>
      browser.send(await browser.open(`${server.origin}/sign-in?return=${path}`), credentials);
    const [first, second] = [await begin('/signed-out?a'), await begin('/signed-out?b')];
    expect((await browser.send(first, { code: codeOf(user.secret) })).url.search).toBe('?a');
    await forgetUsedCodes(server);
    expect((await browser.send(second, { code: codeOf(user.secret) })).url.search).toBe('?b');
  });
});

describe('no door leads around the second factor', () => {
  test('an authorization request, also when it is started again', async () => {
    const user = await registerSecureUser();
    const browser = openFormBrowser([server.origin]);
    const url = authorizeUrl(server, { ...webRequest, scope: 'openid profile' });
    const asked = await browser.send(await browser.open(url), { username: user.username, password });
    expect(asksForCode(asked)).toBe(true);
    expect((await browser.open(url)).title).toMatch(/^Sign in/);
    const consent = await browser.send(asked, { code: codeOf(user.secret) });
    expect(consent.title).toMatch(/^Allow/);
    const done = await browser.send(consent, {}, { name: 'decision', value: 'allow' });
    expect(redirectParameters(done).code).toBeDefined();
  });

  test('a password reset', async () => {
    const user = await registerSecureUser();
    const browser = openFormBrowser([server.origin]);
    await browser.send(await browser.open(`${server.origin}/reset-password`), { username: user.username });
    const { text } = await mailTo(user.username, /Choose a new password/);
    const link = /http\S+reset-password\/new\S+/.exec(text)?.[0] ?? '';
    const asked = await browser.send(await browser.open(link), { password: 'eight unusual lamps' });
    expect(asksForCode(asked)).toBe(true);
    expect(await isSignedIn({ browser })).toBe(false);
    const done = await browser.send(asked, { code: codeOf(user.secret) });
    expect(done.url.pathname).toBe('/reset-password/done');
  });

  test('the page for a device', async () => {
    const user = await registerSecureUser();
    const device = createDevice(server);
    const codes = await device.start();
    const browser = openFormBrowser([server.origin]);
    const asked = await device.connect(codes, { browser, user: { username: user.username, password } });
    expect(asksForCode(asked)).toBe(true);
    expect(await device.poll(codes)).toMatchObject({ error: 'authorization_pending' });
    const consent = await browser.send(asked, { code: codeOf(user.secret) });
    await browser.send(consent, {}, { name: 'decision', value: 'allow' });
    await device.passTime(10);
    expect(await device.poll(codes)).toMatchObject({ status: 200 });
  });

  test('the grant type password, which tells it only after the right password', async () => {
    const user = await registerSecureUser();
    const request = async (secret: string) =>
      statusAndBody(
        await server.post('/connect/token', {
          grant_type: 'password',
          client_id: 'demo-native',
          scope: scopes.play,
          username: user.username,
          password: secret,
        }),
      );
    expect(await request(password)).toMatchObject({
      status: 400,
      error: 'invalid_grant',
      error_description: 'a second factor is required',
    });
    const wrong = await request('wrong');
    expect(wrong).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(wrong.error_description).not.toBe('a second factor is required');
  });

  test('social sign-in, and the grant type social_access_token', async () => {
    const sites = [server.origin, fixture.social.origin];
    const signIn = async () => {
      const browser = openFormBrowser(sites);
      const login = await browser.open(`${server.origin}/social/google`);
      return { browser, page: await browser.send(login, {}, { name: 'user', value: '100002' }) };
    };
    const { browser, page } = await signIn();
    expect(page.url.pathname).toBe('/account');
    const { secret } = await setUpApp(server, browser);
    await forgetUsedCodes(server);
    const again = await signIn();
    expect(asksForCode(again.page)).toBe(true);
    expect((await again.browser.send(again.page, { code: codeOf(secret) })).url.pathname).toBe('/account');
  });

  test('a remembered browser', async () => {
    const user = await registerSecureUser();
    const signedOut = await user.browser.send(await user.browser.open(`${server.origin}/account`), {}, 'Sign out');
    expect(signedOut.url.pathname).toBe('/signed-out');
    const form = await user.browser.open(`${server.origin}/sign-in`);
    expect(asksForCode(await user.browser.send(form, { username: user.username, password }))).toBe(true);
  });
});
