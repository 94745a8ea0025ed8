// Tests authenticator apps and recovery codes, and that no way to sign in leads around a second factor
// (docs/sign-in-security.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import { linkTo, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { eventually } from '@bay-booking/testkit/wait';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { mailsInLog, serverGlobals, startAuthServer } from './auth-server.ts';
import { createDevice } from './device-fixture.ts';
import {
  appSecret,
  codeInLog,
  codeOf,
  confirmAddresses,
  forgetUsedCodes,
  registerSecureUser,
  setUpApp,
  wrongCodeFor,
} from './factors-fixture.ts';
import {
  allow,
  authorizeUrl,
  openBrowser,
  passwordTokens,
  redirectParameters,
  refreshTokens,
  webRequest,
} from './flows.ts';
import { startSocialServer } from './social-server.ts';
import { ageSignIns, password, registerUser, signInUser, type TestUser } from './test-users.ts';

const server = useFixture(() => startSocialServer());
afterEach(async () => {
  await server.db('guard_count').del();
});

/** Registers a user who has just set up an authenticator app, whose current code can still be used. */
async function registerUserWithCodes() {
  const user = await registerUser(server);
  const { secret, recoveryCodes } = await setUpApp(server, user.browser);
  await forgetUsedCodes(server);
  return { ...user, secret, recoveryCodes };
}

const asksForCode = ({ url }: Page): boolean => url.pathname === '/sign-in/second-factor';
const isSignedIn = async ({ browser }: Pick<TestUser, 'browser'>): Promise<boolean> =>
  (await browser.open('/account')).url.pathname === '/account';
const mailTo = (to: string, subject: RegExp) =>
  eventually(async () => mailsInLog(server).find((mail) => mail.to === to && subject.test(mail.subject)));

describe('the set-up', () => {
  test('a code confirms the secret, and the recovery codes are shown once', async () => {
    const user = await registerUser(server);
    await confirmAddresses(server);
    const form = await user.browser.open('/account/security/authenticator');
    expect(form.html).toContain('<svg');
    const wrong = await user.browser.send(form, { code: '12345' });
    expect([wrong.status, wrong.html.includes('The code is wrong')]).toEqual([400, true]);
    const { secret, recoveryCodes } = await setUpApp(server, user.browser);
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(new Set(recoveryCodes).size).toBe(10);
    const again = await user.browser.open('/account/security');
    expect(recoveryCodes.some((code) => again.html.includes(code))).toBe(false);
    expect((await mailTo(user.username, /authenticator app was set up/)).text).toContain('/account/security');
    await server.auth.waitUntilIdle();
    expect(await server.db('audit_event').where({ kind: 'factor.added' }).first()).toBeDefined();
    // The database contains neither the secret nor a code.
    const stored = JSON.stringify([await server.db('authenticator_app'), await server.db('recovery_code')]);
    for (const text of [secret, ...recoveryCodes]) expect(stored).not.toContain(text);
  });

  test('the code that confirmed the set-up counts as used, and so do earlier codes', async () => {
    const user = await registerUser(server);
    const { secret, code } = await setUpApp(server, user.browser);
    const { browser, account: page } = await signInUser(server, user.username);
    const refused = await browser.send(page, { code: codeOf(secret, -1) });
    expect(asksForCode(await browser.send(refused, { code }))).toBe(true);
    expect((await browser.send(refused, { code: codeOf(secret, 1) })).url.pathname).toBe('/account');
  });

  test('the key stays the same for 15 minutes, in groups of four before the picture', async () => {
    const user = await registerUser(server);
    await confirmAddresses(server);
    const path = '/account/security/authenticator';
    const keyOf = ({ html }: Page): string => /id="secret">([^<]+)</.exec(html)?.[1] ?? '';
    const first = await user.browser.open(path);
    expect(keyOf(first)).toMatch(/^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$/);
    expect(first.html.indexOf('id="secret"')).toBeLessThan(first.html.indexOf('<svg'));
    expect(keyOf(await user.browser.open(path))).toBe(keyOf(first));
    const now = Date.now();
    const moved = jest.spyOn(serverGlobals.Date, 'now').mockImplementation(() => now + 15 * 60_000 + 1000);
    await ageSignIns(server, -900);
    const later = await user.browser.open(path).finally(() => moved.mockRestore());
    expect(keyOf(later)).not.toBe(keyOf(first));
  });

  test('an address that is not confirmed: no factor, and the page says what to do', async () => {
    const user = await registerUser(server);
    const page = await user.browser.open('/account/security');
    expect(page.html).toContain('Confirm your e-mail address first');
    expect(page.links.some(({ text }) => /Add a passkey|Set up/.test(text))).toBe(false);
    for (const factor of ['authenticator', 'passkey']) {
      const refused = await user.browser.open(`/account/security/${factor}`);
      expect(refused.status).toBe(409);
      expect(refused.html).not.toMatch(/data-passkey|<svg/);
    }
    const sent = await user.browser.send(page, {}, 'Send me a new link');
    expect(sent.html).toContain('ve sent you a link');
  });

  test('the first factor also asks for a mailed code, five times, and another one does not', async () => {
    const user = await registerUser(server);
    await confirmAddresses(server);
    const form = await user.browser.open('/account/security/authenticator');
    const secret = (/id="secret">([^<]+)</.exec(form.html)?.[1] ?? '').replaceAll(' ', '');
    const send = (mailCode: string) => user.browser.send(form, { code: codeOf(secret), mailCode });
    const right = await codeInLog(server, user.username);
    const wrong = right === '000000' ? '000001' : '000000';
    const refused = [await send('')];
    for (let n = 0; n < 5; n++) refused.push(await send(wrong));
    expect(refused.map(({ status }) => status)).toEqual(Array(6).fill(400));
    expect((await send(right)).html).toContain('too many wrong codes');
    expect((await user.browser.send(form, {}, 'Send me a new code')).status).toBe(200);
    const next = await eventually(async () => {
      const code = await codeInLog(server, user.username);
      return code !== right && code;
    });
    // A failure does not use up the code.
    await server.db.raw('alter table recovery_code add constraint broken check (false) not valid');
    expect((await send(next)).status).toBe(500);
    await server.db.raw('alter table recovery_code drop constraint broken');
    expect((await send(`${next.slice(0, 3)}\u00a0${next.slice(3)}`)).title).toMatch(/^Save your recovery codes/);
    const passkey = await user.browser.open('/account/security/passkey');
    expect([passkey.status, passkey.html.includes('mailCode')]).toEqual([200, false]);
  });

  test('without mail, the first factor needs no mailed code', async () => {
    const silent = await startAuthServer({ MAIL: 'off' });
    const user = await registerUser(silent);
    const { page } = await setUpApp(silent, user.browser);
    expect(page.title).toMatch(/^Save your recovery codes/);
    await silent.close();
  });

  test('the first factor ends every other session and grant, and asks before its removal', async () => {
    const user = await registerUser(server);
    const other = await signInUser(server, user.username);
    const before = await passwordTokens(server, { username: user.username, password });
    const countRevocations = async () => Number((await server.db('revocation').count())[0]?.count);
    const revocations = await countRevocations();
    await setUpApp(server, user.browser);
    expect([await isSignedIn(other), await isSignedIn(user)]).toEqual([false, true]);
    expect(await refreshTokens(server, before)).toMatchObject({ status: 400 });
    expect(await countRevocations()).toBeGreaterThan(revocations);
    const security = await user.browser.open('/account/security');
    const question = await user.browser.open(linkTo(security, 'Remove the authenticator app'));
    expect(question.title).toMatch(/^Remove the authenticator app\?/);
    const removed = await user.browser.send(question, {}, 'Remove');
    expect(removed.html).toContain('Authenticator app removed');
    expect((await signInUser(server, user.username)).account.url.pathname).toBe('/account');
    expect((await mailTo(user.username, /authenticator app was removed/)).text).toContain('This was not me');
  });

  test('a new app replaces the app of a lost phone', async () => {
    const user = await registerUserWithCodes();
    const { browser, account: page } = await signInUser(server, user.username);
    await browser.send(page, { code: String(user.recoveryCodes[0]) });
    const { secret } = await setUpApp(server, browser);
    await forgetUsedCodes(server);
    const again = await signInUser(server, user.username);
    expect(asksForCode(await again.browser.send(again.account, { code: codeOf(user.secret) }))).toBe(true);
    expect((await again.browser.send(again.account, { code: codeOf(secret) })).url.pathname).toBe('/account');
  });

  test('a sign-in of eleven minutes ago must be repeated with both factors', async () => {
    const user = await registerUserWithCodes();
    await ageSignIns(server, 660);
    const changed = await user.browser.submit('/account', { password, newPassword: 'nine unusual lamps' });
    expect(changed.title).toMatch(/^Confirm that it is you/);
    const signIn = await user.browser.submit('/account/security', {}, 'Create new recovery codes');
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
  test.each(['authenticator app', 'recovery code'] as const)('of eight parallel requests: %s', async (kind) => {
    const user = await registerUserWithCodes();
    const typed =
      kind === 'recovery code'
        ? String(user.recoveryCodes[3]).toUpperCase().replaceAll('-', '\u2011')
        : codeOf(user.secret).replaceAll(/\d/g, (digit) => `${String.fromCharCode(0x660 + Number(digit))}-`);
    const browsers = await Promise.all(Array.from({ length: 8 }, () => signInUser(server, user.username)));
    await server.db('guard_count').del();
    const pages = await Promise.all(browsers.map(({ browser, account: page }) => browser.send(page, { code: typed })));
    expect(pages.filter(({ url }) => url.pathname === '/account')).toHaveLength(1);
    const signedIn = await Promise.all(browsers.map((browser) => isSignedIn(browser)));
    expect(signedIn.filter(Boolean)).toHaveLength(1);
  });

  test('a used recovery code is gone, and the user gets a mail', async () => {
    const user = await registerUserWithCodes();
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
    const user = await registerSecureUser(server);
    const wrong = wrongCodeFor(appSecret);
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

  test('five of them in a day send one mail to the owner', async () => {
    const user = await registerSecureUser(server);
    const { browser, account: page } = await signInUser(server, user.username);
    const wrong = wrongCodeFor(appSecret);
    for (let attempt = 0; attempt < 7; attempt++) await browser.send(page, { code: wrong });
    expect((await mailTo(user.username, /wrong codes/)).text).toContain('/reset-password');
    const sent = server.log.filter((line) => line.includes('entered wrong codes') && line.includes(user.username));
    expect(sent).toHaveLength(1);
  });

  test('also in parallel, a right code does not pass after ten wrong ones', async () => {
    const user = await registerSecureUser(server);
    const { browser, account: page } = await signInUser(server, user.username);
    const wrong = wrongCodeFor(appSecret);
    await Promise.all(Array.from({ length: 12 }, () => browser.send(page, { code: wrong })));
    expect((await browser.send(page, { code: codeOf(appSecret) })).status).toBe(429);
    expect(await isSignedIn({ browser })).toBe(false);
  });

  test('a complete sign-in resets the count', async () => {
    const user = await registerSecureUser(server);
    for (let round = 0; round < 2; round++) {
      const { browser, account: page } = await signInUser(server, user.username);
      for (let attempt = 0; attempt < 6; attempt++) await browser.send(page, { code: wrongCodeFor(appSecret) });
      await forgetUsedCodes(server);
      expect((await browser.send(page, { code: codeOf(appSecret) })).url.pathname).toBe('/account');
    }
  });
});

describe('a pending sign-in', () => {
  test('belongs to its browser, and ends after ten minutes and when the password changes', async () => {
    const user = await registerSecureUser(server);
    const { browser, account: page } = await signInUser(server, user.username);
    expect(page.html).toContain('Ask the owner of your facility');
    expect(await isSignedIn({ browser })).toBe(false);
    const stranger = openBrowser(server);
    expect((await stranger.open(page.url)).status).toBe(400);
    await server.db.raw(`update pending_sign_in set expires_at = expires_at - interval '10 minutes 1 second'`);
    expect((await browser.send(page, { code: codeOf(appSecret) })).status).toBe(400);
    expect(await isSignedIn({ browser })).toBe(false);
  });

  test('two tabs of one browser each return to where they began', async () => {
    const user = await registerSecureUser(server);
    const browser = openBrowser(server);
    const credentials = { username: user.username, password };
    const begin = async (path: string) => browser.submit(`/sign-in?return=${path}`, credentials);
    const [first, second] = [await begin('/account?a'), await begin('/account?b')];
    expect((await browser.send(first, { code: codeOf(appSecret) })).url.search).toBe('?a');
    await forgetUsedCodes(server);
    expect((await browser.send(second, { code: codeOf(appSecret) })).url.search).toBe('?b');
  });
});

describe('no door leads around the second factor', () => {
  test('an authorization request, also when it is started again', async () => {
    const user = await registerSecureUser(server);
    const browser = openBrowser(server);
    const url = authorizeUrl(server, { ...webRequest, scope: 'openid profile' });
    const asked = await browser.submit(url, { username: user.username, password });
    expect(asksForCode(asked)).toBe(true);
    expect((await browser.open(url)).title).toMatch(/^Sign in/);
    const consent = await browser.send(asked, { code: codeOf(appSecret) });
    expect(consent.title).toMatch(/^Allow/);
    expect(redirectParameters(await browser.send(consent, {}, allow)).code).toBeDefined();
  });

  test('a password reset', async () => {
    const user = await registerSecureUser(server);
    const { browser: other, account: page } = await signInUser(server, user.username);
    await other.send(page, { code: wrongCodeFor(appSecret) });
    const failures = () => server.db('guard_count').whereLike('key', 'account:%').orderBy('key');
    const failuresBefore = await failures();
    const browser = openBrowser(server);
    await browser.submit('/reset-password', { username: user.username });
    const { text } = await mailTo(user.username, /Choose a new password/);
    const link = /http\S+reset-password\/new\S+/.exec(text)?.[0] ?? '';
    const asked = await browser.submit(link, { password: 'eight unusual lamps' });
    expect(asksForCode(asked)).toBe(true);
    expect(await isSignedIn({ browser })).toBe(false);
    expect(await failures()).toEqual(failuresBefore);
    expect((await browser.send(asked, { code: codeOf(appSecret) })).url.pathname).toBe('/reset-password/done');
  });

  test('the page for a device', async () => {
    const user = await registerSecureUser(server);
    const device = createDevice(server);
    const codes = await device.start();
    const browser = openBrowser(server);
    const asked = await device.connect(codes, { browser, user: { username: user.username, password } });
    expect(asksForCode(asked)).toBe(true);
    expect(await device.poll(codes)).toMatchObject({ error: 'authorization_pending' });
    const consent = await browser.send(asked, { code: codeOf(appSecret) });
    await browser.send(consent, {}, allow);
    await device.passTime(10);
    expect(await device.poll(codes)).toMatchObject({ status: 200 });
  });

  test('the grant type password, which tells it only after the right password', async () => {
    const user = await registerSecureUser(server);
    const request = (secret: string) => passwordTokens(server, { username: user.username, password: secret });
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
    const signIn = async () => {
      const browser = openFormBrowser([server.origin, server.social.origin]);
      return { browser, page: await browser.submit('/social/google', {}, { name: 'user', value: '100002' }) };
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
    const user = await registerSecureUser(server);
    const signedOut = await user.browser.submit('/account', {}, 'Sign out');
    expect(signedOut.url.pathname).toBe('/signed-out');
    expect(asksForCode(await user.browser.submit('/sign-in', { username: user.username, password }))).toBe(true);
  });
});
