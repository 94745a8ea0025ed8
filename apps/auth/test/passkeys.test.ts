// Tests passkeys over HTTP, with a simulated authenticator, the command that removes lost second factors, and the
// authenticator app of an import file (docs/sign-in-security.md).
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, linkTo, type Page } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { encryptionKey, scopes, startAuthServer } from './auth-server.ts';
import { confirmAddresses, mailCodeFor, setUpApp } from './factors-fixture.ts';
import { authorizeUrl, exchangeCode, openBrowser, redirectParameters, signInAndConsent, webRequest } from './flows.ts';
import { createSoftAuthenticator } from './soft-authenticator.ts';
import { password, registerUser, signInUser } from './test-users.ts';

const server = useFixture(() => startAuthServer());

const asksForFactor = ({ url }: Page): boolean => url.pathname === '/sign-in/second-factor';

async function registerPasskeyUser(options: { isVerified?: boolean; counter?: number } = {}) {
  const user = await registerUser(server);
  const authenticator = createSoftAuthenticator(server.origin);
  await confirmAddresses(server);
  const form = await user.browser.open('/account/security/passkey');
  const mailCode = await mailCodeFor(server, form);
  const passkey = await authenticator.create(form, options);
  const page = await user.browser.send(form, { name: 'My phone', passkey, ...mailCode });
  const recoveryCodes = (/id="recovery-codes">([^<]+)</.exec(page.html)?.[1] ?? '').split('\n');
  return { ...user, authenticator, recoveryCodes };
}

/** Opens the page and answers its challenge. Returns the page that follows. */
async function usePasskey(
  browser: FormBrowser,
  authenticator: ReturnType<typeof createSoftAuthenticator>,
  { path = '/sign-in', ...options }: { path?: string; isVerified?: boolean; counter?: number } = {},
): Promise<Page> {
  const form = await browser.open(path);
  return browser.send(form, { passkey: await authenticator.get(form, options) });
}

describe('a passkey with user verification', () => {
  test('signs in alone, as two factors and without a further prompt', async () => {
    const { authenticator, username } = await registerPasskeyUser();
    const browser = openBrowser(server);
    const request = { ...webRequest, scope: `openid ${scopes.play}`, acr_values: '2' };
    const form = await browser.open(authorizeUrl(server, request));
    expect(form.html).toContain('autocomplete="username webauthn"');
    const consent = await browser.send(form, { passkey: await authenticator.get(form) });
    expect(consent.title).toMatch(/^Allow/);
    const { code } = redirectParameters(await signInAndConsent(browser, consent));
    const body = await exchangeCode(server, code);
    expect(decodeJwt(String(body.id_token))).toMatchObject({ amr: ['pop', 'mfa'], acr: '2' });
    expect((await browser.open('/account')).html).toContain(username);
  });

  test('works once for each challenge, and not with the challenge of another page', async () => {
    const { authenticator } = await registerPasskeyUser();
    const [first, second] = [openBrowser(server), openBrowser(server)];
    const form = await first.open('/sign-in');
    const response = await authenticator.get(form);
    expect((await first.send(form, { passkey: response })).url.pathname).toBe('/account');
    const other = await second.open('/sign-in');
    expect((await second.send(other, { passkey: response })).status).toBe(400);
    const stranger = createSoftAuthenticator(server.origin);
    expect((await second.send(other, { passkey: await stranger.get(other) })).status).toBe(400);
    expect((await second.send(other, { passkey: '{"id":1}' })).status).toBe(400);
  });

  test('a counter of 0 or a lower one does not lock the user out', async () => {
    const { authenticator } = await registerPasskeyUser({ counter: 7 });
    for (const counter of [9, 3, 3, 0])
      expect((await usePasskey(openBrowser(server), authenticator, { counter })).url.pathname).toBe('/account');
  });

  test('confirms only the account that is signed in', async () => {
    const ann = await registerPasskeyUser();
    const ben = await registerPasskeyUser();
    const path = '/sign-in?again=1';
    expect((await usePasskey(ann.browser, ben.authenticator, { path })).status).toBe(400);
    expect((await usePasskey(ann.browser, ann.authenticator, { path })).url.pathname).toBe('/account');
  });
});

test('a passkey without user verification is one factor: it needs the password', async () => {
  const { authenticator, username } = await registerPasskeyUser({ isVerified: false });
  const browser = openBrowser(server);
  const refused = await usePasskey(browser, authenticator, { isVerified: false });
  expect([refused.status, /did.+t verify you with a PIN/.test(refused.html)]).toEqual([400, true]);
  const asked = await browser.send(refused, { username, password });
  expect(asksForFactor(asked)).toBe(true);
  const done = await browser.send(asked, { passkey: await authenticator.get(asked, { isVerified: false }) });
  expect(done.url.pathname).toBe('/account');
});

test('after the password, the passkey or a recovery code is asked for', async () => {
  const { authenticator, username, recoveryCodes } = await registerPasskeyUser();
  const first = await signInUser(server, username);
  expect(asksForFactor(first.account)).toBe(true);
  const stranger = createSoftAuthenticator(server.origin);
  expect((await first.browser.send(first.account, { passkey: await stranger.get(first.account) })).status).toBe(400);
  const done = await first.browser.send(first.account, { passkey: await authenticator.get(first.account) });
  expect(done.url.pathname).toBe('/account');
  const second = await signInUser(server, username);
  const code = String(recoveryCodes[9]);
  expect((await second.browser.send(second.account, { code })).url.pathname).toBe('/account');
});

test('passkeys are named, renamed and removed; the last one takes the recovery codes along', async () => {
  const { authenticator, browser, username } = await registerPasskeyUser();
  const page = await browser.open('/account/security');
  expect(page.html).toContain('My phone');
  const renamed = await browser.send(page, { name: 'Old phone' });
  expect(renamed.html).toContain('Old phone');
  const question = await browser.open(linkTo(renamed, 'Remove'));
  expect(question.html).toContain('Old phone');
  const removed = await browser.send(question, {}, 'Remove');
  expect(removed.html).toContain('Passkey removed. You can delete it from your device too.');
  expect(removed.html).not.toContain('Old phone');
  const { id } = await server.db('account').where({ username }).first();
  expect(await server.db('recovery_code').where({ account_id: id })).toEqual([]);
  expect((await usePasskey(openBrowser(server), authenticator)).status).toBe(400);
});

test('refused passkeys count in the guard, of the account and of the IP address', async () => {
  const { username } = await registerPasskeyUser();
  const stranger = createSoftAuthenticator(server.origin);
  const { browser, account: asked } = await signInUser(server, username);
  const second = async () => (await browser.send(asked, { passkey: await stranger.get(asked) })).status;
  const statuses: number[] = [];
  for (let n = 0; n < 11; n++) statuses.push(await second());
  expect([statuses[0], statuses.at(-1)]).toEqual([400, 429]);
  const countOfAddress = async () => (await server.db('guard_count').whereLike('key', 'address:%').first()).points;
  const before = await countOfAddress();
  expect((await usePasskey(openBrowser(server), stranger)).status).toBe(400);
  expect(await countOfAddress()).toBe(before + 1);
  await server.db('guard_count').del();
});

const run = (command: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, [`src/commands/${command}.ts`, ...args], {
    env: { ...process.env, DATABASE_URL: server.databaseUrl, KEY_ENCRYPTION_KEY: encryptionKey },
  });

test('the command removes the factors, ends the sessions and mails the user', async () => {
  const { username, browser } = await registerUser(server);
  await setUpApp(server, browser);
  const { stdout } = await run('reset-factors', username.toUpperCase());
  expect(stdout).toContain(`removed the second factors of ${username}`);
  expect(stdout).toContain('All second factors were removed in your account');
  expect((await browser.open('/account')).title).toMatch(/^Sign in/);
  expect((await signInUser(server, username)).account.url.pathname).toBe('/account');
  const events = await server.db('audit_event').where({ kind: 'factor.reset' });
  // The list of an operator's changes has only events with `operator`.
  expect(events).toMatchObject([{ detail: { operator: 'reset-factors' } }]);
  await expect(run('reset-factors', 'nobody@example.org')).rejects.toThrow('there is no account');
});
