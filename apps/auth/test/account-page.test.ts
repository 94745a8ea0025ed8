// Tests the page "Your account", which shows the profile, sessions, applications and password of a user.
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, fieldOf, type Page } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { describe, expect, test } from '@jest/globals';
import { scopes, startAuthServer } from './auth-server.ts';
import {
  allow,
  authorizeUrl,
  exchangeCode,
  openBrowser,
  passwordTokens,
  player,
  refreshTokens,
  webCallback,
  webClient,
  webRequest,
} from './flows.ts';
import { password, registerUser, signInUser, userAgents } from './test-users.ts';

const server = useFixture(() => startAuthServer());

const newPassword = 'eight quiet harbours';
const { firefox } = userAgents;
/** Opens the page "Your account", or the sign-in page if nobody is signed in. */
const openAccount = (browser: FormBrowser): Promise<Page> => browser.open('/account');
const isSignedIn = async (browser: FormBrowser) => (await openAccount(browser)).title.startsWith('Your account');

test('a user who opens the account page signs in and returns to the account page', async () => {
  const browser = openBrowser(server);
  const form = await openAccount(browser);
  expect(form.url.href).toBe(`${server.origin}/sign-in?return=%2Faccount`);
  const page = await browser.send(form, player);
  expect(page.url.href).toBe(`${server.origin}/account`);
  expect(page.html).toContain('Pat Player');
  expect((await browser.open('/signed-out')).title).toMatch(/^Your account/);
});

describe('the profile', () => {
  test.each([
    ['owner@north.example', 'demo-owner-pass', 'Roles Range owner, Owner at North Range'],
    ['bot@north.example', 'demo-bot-pass', 'Roles Bookings Manager at North Range'],
  ])('the profile of %s shows its roles', async (username, secret, roles) => {
    const { account } = await signInUser(server, username, { secret });
    expect(textOf(account.html)).toContain(roles);
  });

  test('the user can change the name, and markup in the name is shown as text', async () => {
    const { browser, account } = await registerUser(server);
    const page = await browser.send(account, { name: '<b>Petra</b>' }, 'Save the name');
    expect(page.html).toContain('&lt;b&gt;Petra&lt;/b&gt;');
    expect((await browser.send(page, { name: '' }, 'Save the name')).status).toBe(400);
  });

  test('a name with a control character, without a visible one or with more than 100 characters is rejected', async () => {
    const { browser, account } = await registerUser(server);
    // Browsers would cut a password, and count an emoji in a name twice.
    expect(account.html).not.toContain('maxlength');
    for (const character of ['\0', '\n', '\u061c', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069']) {
      const page = await browser.send(account, { name: `Petra${character}Person` }, 'Save the name');
      expect(page.status).toBe(400);
      expect(textOf(page.html)).toContain('The name contains invisible control characters. Type it again.');
    }
    const setName = async (name: string) => (await browser.send(account, { name }, 'Save the name')).status;
    expect([await setName('🏌'.repeat(100)), await setName('🏌'.repeat(101))]).toEqual([200, 400]);
    for (const name of ['\u200b', '\u3164 \u2800', '\ufe0f\u{e0100}']) {
      const page = await browser.send(account, { name }, 'Save the name');
      expect(textOf(page.html)).toContain('The name has only invisible characters. Type it again.');
    }
  });
});

describe('sessions', () => {
  /** Returns the uid of the session that the first button on the page ends. */
  const uidIn = (page: Page): string => fieldOf(page, 'uid') ?? '';

  test('the page lists the sessions of a user by browser, and the user can end another session', async () => {
    const { browser, username } = await registerUser(server);
    const otherSession = await signInUser(server, username, { userAgent: firefox });
    const account = await openAccount(browser);
    expect(account.html).toContain('Chrome on Linux');
    expect(account.html).toContain('Firefox on Windows');
    await browser.send(account, { uid: uidIn(account) }, 'Sign out Firefox on Windows');
    expect(await isSignedIn(otherSession.browser)).toBe(false);
    expect(await isSignedIn(browser)).toBe(true);
  });

  test('a user cannot end the session of another user', async () => {
    const owner = await registerUser(server);
    await signInUser(server, owner.username, { userAgent: firefox });
    const uid = uidIn(await openAccount(owner.browser));
    const stranger = await registerUser(server);
    await signInUser(server, stranger.username, { userAgent: firefox });
    await stranger.browser.send(await openAccount(stranger.browser), { uid }, 'Sign out Firefox on Windows');
    expect((await openAccount(owner.browser)).html).toContain('Firefox on Windows');
  });
});

describe('applications', () => {
  test('the page lists applications, and “Remove access” ends their refresh tokens and the consent', async () => {
    const { browser, username } = await registerUser(server);
    const tokens = await passwordTokens(server, { username, password });
    const url = authorizeUrl(server, { ...webRequest, scope: `openid ${scopes.play}` });
    await browser.submit(url, {}, allow);
    const account = await openAccount(browser);
    expect(account.html).toContain('Demo native app');
    const removed = await browser.send(account, { client: 'demo-native' }, 'Remove access');
    expect(removed.html).not.toContain('Demo native app');
    expect(textOf(removed.html)).toContain('Within 15 seconds, the access tokens that it already has stop working.');
    expect(await refreshTokens(server, tokens)).toMatchObject({ status: 400, error: 'invalid_grant' });
    // The other application still has the consent, and must ask for it again when its access was removed.
    expect((await browser.open(url)).url.origin).toBe(new URL(webCallback).origin);
    await browser.send(removed, { client: 'demo-web' }, 'Remove access');
    expect((await browser.open(url)).title).toMatch(/^Allow access/);
  });
});

describe('the password', () => {
  test('a user who knows the current password can change it, and every other browser is signed out', async () => {
    const { browser, account, username } = await registerUser(server);
    const otherSession = await signInUser(server, username, { userAgent: firefox });
    const page = await browser.send(account, { password, newPassword });
    expect(page.html).toContain('Your password was changed');
    expect(await isSignedIn(otherSession.browser)).toBe(false);
    const again = await signInUser(server, username, { secret: newPassword });
    expect(again.account.title).toMatch(/^Your account/);
  });

  test('if the other sessions cannot be ended, the password stays as it was', async () => {
    const { browser, account, username } = await registerUser(server);
    await server.db.raw('alter table pending_sign_in rename to hidden');
    expect((await browser.send(account, { password, newPassword })).status).toBe(500);
    await server.db.raw('alter table hidden rename to pending_sign_in');
    expect((await signInUser(server, username)).account.title).toMatch(/^Your account/);
  });

  test.each([
    ['keeps the access of applications in this browser if the user chooses so', 'yes', 200],
    ['ends the access of applications in this browser by default', '', 400],
  ])('changing the password %s', async (_title, keepApplications, status) => {
    const { browser } = await registerUser(server);
    const scope = `openid offline_access ${scopes.play}`;
    const url = authorizeUrl(server, { ...webRequest, scope, prompt: 'consent' });
    const callback = await browser.submit(url, {}, allow);
    const webTokens = await exchangeCode(server, callback.url.searchParams.get('code'));
    const page = await openAccount(browser);
    await browser.send(page, { password, newPassword, ...(keepApplications && { keepApplications }) });
    expect(await refreshTokens(server, webTokens, webClient)).toMatchObject({ status });
    expect(await isSignedIn(browser)).toBe(true);
  });

  test('a change of the password is rejected if the current password is wrong or the new password is easy to guess', async () => {
    const { browser, account, username } = await registerUser(server);
    const wrong = await browser.send(account, { password: 'not the password', newPassword });
    expect(wrong.status).toBe(400);
    expect(wrong.html).toContain('The current password is wrong');
    expect((await browser.send(account, { password, newPassword: 'password1' })).status).toBe(400);
    expect((await signInUser(server, username)).account.title).toMatch(/^Your account/);
  });
});

test('every sign-in, failed sign-in, registration and change is in the audit trail, without secrets', async () => {
  const browser = openBrowser(server);
  const username = 'nora@example.org';
  // The registration also signs the user in.
  const account = await browser.submit('/register', { name: 'Nora', username, password });
  await signInUser(server, username, { secret: 'not the password' });
  await browser.send(account, { password, newPassword });
  await browser.send(await openAccount(browser), {}, 'Sign out');
  await server.auth.waitUntilIdle();
  const { id } = await server.db('account').where({ username }).first('id');
  const rows = await server.db('audit_event').where({ account_id: id });
  const kinds = ['account.registered', 'sign-in.succeeded', 'sign-in.refused', 'password.changed', 'session.ended'];
  expect(rows.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds));
  // Parts of the three passwords that this test has sent
  const secrets = /unusual lamps|quiet harbours|not the password/;
  expect(JSON.stringify(rows)).not.toMatch(secrets);
  expect(server.log.join('\n')).not.toMatch(secrets);
});
