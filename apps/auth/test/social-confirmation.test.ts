// Tests how a user without a password confirms a sign-in that is no longer fresh, and that an old session at a social
// provider does not satisfy a request for a fresh sign-in: `prompt=login`, `max_age` and `acr_values=2`.
import type { SocialName } from '@bay-booking/social-stand-ins/providers';
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, fieldOf, linkTo, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { eventually } from '@bay-booking/testkit/wait';
import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type LoggedMail, mailsInLog, scopes } from './auth-server.ts';
import { authorizeUrl, signInAndConsent } from './flows.ts';
import { startSocialServer } from './social-server.ts';
import { ageSignIns } from './test-users.ts';

const server = useFixture(() => startSocialServer());
afterEach(async () => {
  server.social.session.seconds = 0;
  await server.db('guard_count').del();
});

/** The ids of two users of the simulated social providers. */
const ada = '100001';
const ben = '100002';

const openBrowser = (): FormBrowser => openFormBrowser([server.origin, server.social.origin]);
const signInAs = (browser: FormBrowser, page: Page, user = ada): Promise<Page> =>
  browser.send(page, {}, { name: 'user', value: user });

/** Signs in at the provider, and changes the database as if this had been 11 minutes ago. */
async function signInEarlier(provider: SocialName, user = ada): Promise<FormBrowser> {
  const browser = openBrowser();
  await signInAs(browser, await browser.open(`/social/${provider}`), user);
  await ageSignIns(server, 660);
  return browser;
}

/** Sends a form that needs a fresh sign-in. The next page is that of the other provider, or the confirmation. */
async function addProvider(browser: FormBrowser, title: 'Google' | 'Facebook'): Promise<Page> {
  await server.db.raw('update account set email_verified = true, email_proven_at = now()');
  return browser.submit('/account', {}, `Add ${title}`);
}

const isFresh = async (browser: FormBrowser, title: 'Google' | 'Facebook'): Promise<boolean> =>
  (await addProvider(browser, title)).url.origin === server.social.origin;

const mails = () => mailsInLog(server);
const codeIn = ({ text }: LoggedMail): string => /\b\d{6}\b/.exec(text)?.[0] ?? '';
const mailedCode = (): string => codeIn(mails().at(-1) as LoggedMail);
const wrongFor = (code: string): string => (code === '000000' ? '111111' : '000000');

describe('at a provider with OpenID Connect', () => {
  test('the provider must make the user sign in again, and the sign-in is then fresh', async () => {
    const browser = await signInEarlier('google');
    const page = await addProvider(browser, 'Facebook');
    expect(page.title).toMatch(/^Confirm that it is you/);
    const login = await browser.open(linkTo(page, 'Google'));
    expect(login.url.origin).toBe(server.social.origin);
    expect(Object.fromEntries(login.url.searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
    expect((await signInAs(browser, login, ada)).url.href).toBe(`${server.origin}/account`);
    expect(await isFresh(browser, 'Facebook')).toBe(true);
  });

  test('an old session at the provider confirms nothing, also without the page', async () => {
    const browser = await signInEarlier('google');
    server.social.session.seconds = 3_600;
    const link = linkTo(await addProvider(browser, 'Facebook'), 'Google');
    for (const address of [link, '/social/google?return=/account']) {
      const page = await signInAs(browser, await browser.open(address), ada);
      expect(page.status).toBe(502);
      expect(linkTo(page, 'Other ways to sign in')).toMatch(/\/sign-in\?return=.*&again=1$/);
    }
    expect(await isFresh(browser, 'Facebook')).toBe(false);
  });

  test('another user of the provider confirms nothing, and the session stays', async () => {
    const browser = await signInEarlier('google');
    const login = await browser.open(linkTo(await addProvider(browser, 'Facebook'), 'Google'));
    const page = await signInAs(browser, login, ben);
    expect([page.status, page.title]).toEqual([409, expect.stringMatching(/^Your sign-in is not confirmed/)]);
    expect((await browser.open('/account')).html).toContain('Ada Fairway');
    expect(await isFresh(browser, 'Facebook')).toBe(false);
  });

  test('a user who cannot use the provider can have a code mailed instead', async () => {
    const browser = await signInEarlier('google');
    const before = mails().length;
    const page = await addProvider(browser, 'Facebook');
    expect(mails()).toHaveLength(before);
    const form = await browser.send(page, {}, 'Send me a code by e-mail');
    expect(mails()).toHaveLength(before + 1);
    expect((await browser.send(form, { code: mailedCode() })).url.pathname).toBe('/account');
    expect(await isFresh(browser, 'Facebook')).toBe(true);
  });
});

describe('at a provider with OAuth 2.0, which cannot confirm', () => {
  /** Opens the confirmation, and returns its page with the mailed code. */
  const openConfirmation = async (browser: FormBrowser) => {
    const before = mails().length;
    const page = await addProvider(browser, 'Google');
    expect(page.title).toMatch(/^Confirm that it is you/);
    expect(page.links.some(({ text }) => text.includes('Facebook'))).toBe(false);
    const mail = await eventually(async () => mails()[before]);
    return { page, mail, code: codeIn(mail) };
  };

  test('the page asks for a mailed code, which makes the sign-in fresh', async () => {
    const browser = await signInEarlier('facebook');
    const { page, mail, code } = await openConfirmation(browser);
    expect(mail).toMatchObject({ to: 'ada@social.example', subject: expect.stringContaining(code) });
    expect(code).toMatch(/^\d{6}$/);
    const sent = mails().length;
    await addProvider(browser, 'Google');
    expect(mails()).toHaveLength(sent);
    expect((await browser.send(page, { code })).url.href).toBe(`${server.origin}/account`);
    expect(await isFresh(browser, 'Google')).toBe(true);
  });

  test('a signed-in user who opens the address of the provider is asked for a code too', async () => {
    const browser = await signInEarlier('facebook');
    const page = await browser.open('/social/facebook?return=/account');
    expect(page.title).toMatch(/^Confirm that it is you/);
    expect(await isFresh(browser, 'Google')).toBe(false);
  });

  test('five wrong codes end the code, also if they are sent at the same time', async () => {
    const browser = await signInEarlier('facebook');
    const { page, code } = await openConfirmation(browser);
    const wrong = await Promise.all(Array.from({ length: 16 }, () => browser.send(page, { code: wrongFor(code) })));
    const texts = wrong.map(({ status, html }) => `${status} ${/The code (is wrong|has expired)/.exec(html)?.[1]}`);
    expect(texts.toSorted()).toEqual([...Array(11).fill('400 has expired'), ...Array(5).fill('400 is wrong')]);
    const ended = await browser.send(page, { code });
    expect(ended.status).toBe(400);
    expect(await isFresh(browser, 'Google')).toBe(false);
    const renewed = await browser.send(ended, {}, 'Send me a new code');
    expect((await browser.send(renewed, { code: mailedCode() })).url.pathname).toBe('/account');
    expect(await isFresh(browser, 'Google')).toBe(true);
  });

  test('a code works once, in its session, and for ten minutes', async () => {
    const browser = await signInEarlier('facebook');
    const other = await signInEarlier('facebook', ben);
    const { page, code } = await openConfirmation(browser);
    const { page: pageOfOther, code: codeOfOther } = await openConfirmation(other);
    if (code !== codeOfOther) expect((await browser.send(page, { code: codeOfOther })).status).toBe(400);
    await server.db.raw("update confirmation_code set expires_at = expires_at - interval '10 minutes'");
    expect((await browser.send(page, { code })).status).toBe(400);
    expect(await isFresh(browser, 'Google')).toBe(false);
    await server.db.raw("update confirmation_code set expires_at = now() + interval '1 minute'");
    const cookie = other.cookieHeader();
    const form = { csrf: fieldOf(pageOfOther, 'csrf', { action: '/sign-in' }) ?? '', code: codeOfOther };
    const send = () => server.post('/sign-in?return=%2Faccount&again=1', form, { cookie });
    const uses = await Promise.all(Array.from({ length: 8 }, send));
    expect(uses.filter(({ status }) => status === 303)).toHaveLength(1);
  });

  test('an account gets five codes an hour', async () => {
    const browser = await signInEarlier('facebook');
    let { page } = await openConfirmation(browser);
    for (let sent = 1; sent < 5; sent++) page = await browser.send(page, {}, 'Send me a new code');
    expect(page.status).toBe(200);
    const { status, headers } = await browser.send(page, {}, 'Send me a new code');
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true]);
  });

  test('a user without an e-mail address reads what to do', async () => {
    const browser = await signInEarlier('facebook', ben);
    await server.db.raw('update account set email = null where email = ?', ['ben@social.example']);
    const page = await browser.open('/sign-in?return=/account&again=1');
    expect(page.html).toContain('Your account has no e-mail address');
    expect(page.status).toBe(200);
  });
});

const day = 24 * 3600;
const client = { client_id: 'demo-native', redirect_uri: 'com.example.demo:/callback' };
const now = (): number => Math.floor(Date.now() / 1000);

const authorize = (browser: FormBrowser, params: Record<string, string> = {}): Promise<Page> =>
  browser.open(authorizeUrl(server, { response_type: 'code', scope: `openid ${scopes.play}`, ...client, ...params }));
/** Follows the link of the sign-in page to the provider, unless the page is already that of the provider. */
const choose = (browser: FormBrowser, page: Page, title: string): Promise<Page> | Page =>
  page.url.origin === server.social.origin ? page : browser.open(linkTo(page, title));
async function claimsOf(page: Page) {
  expect(page.url.href).toMatch(/^com\.example\.demo:\/callback\?code=/);
  const code = page.url.searchParams.get('code') ?? '';
  const tokens = await server.token({ grant_type: 'authorization_code', code, ...client });
  return decodeJwt(String(tokens.access_token));
}

/** Signs in with the provider on our own page. Returns the browser, which may stay signed in or not. */
async function signInDirectly(provider: 'google' | 'facebook', secondsAtProvider = 0): Promise<FormBrowser> {
  const browser = openBrowser();
  server.social.session.seconds = secondsAtProvider;
  await signInAs(browser, await browser.open(`/social/${provider}`));
  await server.db.raw('update account set email_verified = true, email_proven_at = now()');
  return browser;
}

const signOut = async (browser: FormBrowser): Promise<void> => {
  const page = await browser.submit('/account', {}, 'Sign out');
  expect(page.url.pathname).toBe('/signed-out');
};

describe.each<[Record<string, string>, naming: string]>([
  [{ prompt: 'login' }, 'without'],
  [{ max_age: '60' }, 'with'],
])('a request with %j, %s acr_values=idp:NAME', (params, naming) => {
  const requestAt = (name: string) => ({ ...params, ...(naming === 'with' && { acr_values: `idp:${name}` }) });

  test.each(['signed in', 'signed out'])('rejects an old sign-in at a provider of type oidc, %s', async (state) => {
    const browser = await signInDirectly('google', day);
    if (state === 'signed out') await signOut(browser);
    const login = await choose(browser, await authorize(browser, requestAt('google')), 'Google');
    expect(Object.fromEntries(login.url.searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
    const rejected = await signInAs(browser, login);
    expect([rejected.status, rejected.url.origin]).toEqual([502, server.origin]);

    server.social.session.seconds = 0;
    const retry = await browser.open(linkTo(rejected, 'Try Google again'));
    const { auth_time: authTime } = await claimsOf(await signInAndConsent(browser, await signInAs(browser, retry)));
    expect(authTime).toBeGreaterThan(now() - 60);
  });

  test.each(['signed in', 'signed out'])('needs a mailed code at a provider of type oauth2, %s', async (state) => {
    const browser = await signInDirectly('facebook');
    if (state === 'signed out') await signOut(browser);
    const login = await choose(browser, await authorize(browser, requestAt('facebook')), 'Facebook');
    const form = await signInAs(browser, login);
    expect(form.title).toMatch(/^Confirm that it is you/);
    expect(form.headers.get('content-security-policy')).not.toMatch(/form-action 'self'(;|$)/);
    expect((await browser.send(form, { code: wrongFor(mailedCode()) })).status).toBe(400);
    const claims = await claimsOf(await signInAndConsent(browser, await browser.send(form, { code: mailedCode() })));
    expect(claims.auth_time).toBeGreaterThan(now() - 60);
    expect(claims.amr).toEqual(['fed', 'otp']);
  });
});

test('acr_values=2 asks the provider for a fresh sign-in too', async () => {
  const browser = openBrowser();
  const login = await choose(browser, await authorize(browser, { acr_values: 'idp:google 2' }), 'Google');
  expect(Object.fromEntries(login.url.searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
});

test('a request that asks for no fresh sign-in accepts a session at the provider, whose time is auth_time', async () => {
  server.social.session.seconds = 1_800;
  const browser = openBrowser();
  const login = await choose(browser, await authorize(browser, { acr_values: 'idp:google' }), 'Google');
  expect(login.url.searchParams.has('prompt')).toBe(false);
  expect(login.url.searchParams.has('max_age')).toBe(false);
  const { auth_time: authTime } = await claimsOf(await signInAndConsent(browser, await signInAs(browser, login)));
  expect(Number(authTime)).toBeLessThanOrEqual(now() - 1_800);
  expect(Number(authTime)).toBeGreaterThan(now() - 1_860);
});

test('a fresh sign-in cannot be skipped on the path that follows the confirmation', async () => {
  const browser = await signInDirectly('facebook');
  const page = await authorize(browser, { prompt: 'login' });
  const interaction = `${page.url.origin}${page.url.pathname}`;
  expect((await browser.open(`${interaction}/fresh`)).title).toMatch(/^Confirm that it is you/);
  await signOut(browser);
  expect((await browser.open(`${interaction}/fresh`)).title).toMatch(/^This sign-in has expired/);
});

test.each([
  ['google', day],
  ['facebook', 0],
] as const)('signing out and in again at %s does not make the session fresh', async (provider, seconds) => {
  const browser = await signInDirectly(provider, seconds);
  await signOut(browser);
  await signInAs(browser, await browser.open(`/social/${provider}`));
  const other = provider === 'google' ? 'Facebook' : 'Google';
  const page = await browser.submit('/account', {}, `Add ${other}`);
  expect(page.title).toMatch(/^Confirm that it is you/);
});
