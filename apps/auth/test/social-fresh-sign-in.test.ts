// Tests that an old session at a social provider does not satisfy a request for a fresh sign-in: `prompt=login`,
// `max_age` and `acr_values=2`.
import type { SocialStandIns } from '@bay-booking/social-stand-ins/providers';
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type AuthServer, scopes, statusAndBody } from './auth-server.ts';
import { startSocialServer } from './social-server.ts';

const fixture = useFixture(() => startSocialServer());
let server: AuthServer;
let social: SocialStandIns;
beforeAll(() => {
  ({ server, social } = fixture);
});
afterEach(async () => {
  social.session.seconds = 0;
  await server.db('guard_count').del();
});

const day = 24 * 3600;
const callback = 'com.example.demo:/callback';
const client = { client_id: 'demo-native', redirect_uri: callback };
const now = (): number => Math.floor(Date.now() / 1000);

const openBrowser = (): FormBrowser => openFormBrowser([server.origin, social.origin]);
const signInAs = (browser: FormBrowser, page: Page, user = '100001'): Promise<Page> =>
  browser.send(page, {}, { name: 'user', value: user });
const authorize = (browser: FormBrowser, params: Record<string, string> = {}): Promise<Page> =>
  browser.open(
    `${server.origin}/connect/authorize?${new URLSearchParams({ response_type: 'code', scope: `openid ${scopes.play}`, ...client, ...params })}`,
  );
/** Follows the link of the sign-in page to the provider, unless the page is already that of the provider. */
const choose = (browser: FormBrowser, page: Page, title: string): Promise<Page> | Page =>
  page.url.origin === social.origin
    ? page
    : browser.open(page.links.find(({ text }) => text.includes(title))?.href ?? '');
const allow = async (browser: FormBrowser, page: Page): Promise<Page> =>
  page.title.startsWith('Allow') ? browser.send(page, {}, { name: 'decision', value: 'allow' }) : page;

async function claimsOf(page: Page) {
  expect(page.url.href).toMatch(/^com\.example\.demo:\/callback\?code=/);
  const code = page.url.searchParams.get('code') ?? '';
  const tokens = await statusAndBody(
    await server.post('/connect/token', { grant_type: 'authorization_code', code, ...client }),
  );
  return decodeJwt(String(tokens.access_token));
}

/** Signs in with the provider on our own page. Returns the browser, which may stay signed in or not. */
async function signInDirectly(provider: 'google' | 'facebook', secondsAtProvider = 0): Promise<FormBrowser> {
  const browser = openBrowser();
  social.session.seconds = secondsAtProvider;
  await signInAs(browser, await browser.open(`${server.origin}/social/${provider}`));
  await server.db.raw('update account set email_verified = true, email_proven_at = now()');
  return browser;
}

const signOut = async (browser: FormBrowser): Promise<void> => {
  const page = await browser.send(await browser.open(`${server.origin}/account`), {}, 'Sign out');
  expect(page.url.pathname).toBe('/signed-out');
};

const mailedCode = (): string => {
  const mails = server.log.map((line) => JSON.parse(line)).flatMap(({ mail }) => (mail ? [mail] : []));
  return /\b\d{6}\b/.exec(mails.at(-1)?.text)?.[0] ?? '';
};

const freshRequests: [string, Record<string, string>][] = [
  ['prompt=login', { prompt: 'login' }],
  ['prompt=login and acr_values=idp:NAME', { prompt: 'login', acr_values: 'idp:NAME' }],
  ['max_age', { max_age: '60' }],
  ['max_age and acr_values=idp:NAME', { max_age: '60', acr_values: 'idp:NAME' }],
];
const requestAt = (name: string, params: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([key, value]) => [key, value.replace('NAME', name)]));

describe.each(freshRequests)('a request with %s', (_title, params) => {
  test.each(['signed in', 'signed out'])('rejects an old sign-in at a provider of type oidc, %s', async (state) => {
    const browser = await signInDirectly('google', day);
    if (state === 'signed out') await signOut(browser);
    const login = await choose(browser, await authorize(browser, requestAt('google', params)), 'Google');
    expect(Object.fromEntries(login.url.searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
    const rejected = await signInAs(browser, login);
    expect([rejected.status, rejected.url.origin]).toEqual([502, server.origin]);

    social.session.seconds = 0;
    const retry = await browser.open(rejected.links.find(({ text }) => text === 'Try Google again')?.href ?? '');
    const { auth_time: authTime } = await claimsOf(await allow(browser, await signInAs(browser, retry)));
    expect(authTime).toBeGreaterThan(now() - 60);
  });

  test.each(['signed in', 'signed out'])('needs a mailed code at a provider of type oauth2, %s', async (state) => {
    const browser = await signInDirectly('facebook');
    if (state === 'signed out') await signOut(browser);
    const request = requestAt('facebook', params);
    const form = await signInAs(browser, await choose(browser, await authorize(browser, request), 'Facebook'));
    expect(form.title).toMatch(/^Confirm that it is you/);
    expect(form.headers.get('content-security-policy')).not.toMatch(/form-action 'self'(;|$)/);
    const wrong = mailedCode() === '000000' ? '111111' : '000000';
    expect((await browser.send(form, { code: wrong })).status).toBe(400);
    const claims = await claimsOf(await allow(browser, await browser.send(form, { code: mailedCode() })));
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
  social.session.seconds = 1_800;
  const browser = openBrowser();
  const login = await choose(browser, await authorize(browser, { acr_values: 'idp:google' }), 'Google');
  expect(login.url.searchParams.has('prompt')).toBe(false);
  expect(login.url.searchParams.has('max_age')).toBe(false);
  const { auth_time: authTime } = await claimsOf(await allow(browser, await signInAs(browser, login)));
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
  await signInAs(browser, await browser.open(`${server.origin}/social/${provider}`));
  const other = provider === 'google' ? 'Facebook' : 'Google';
  const page = await browser.send(await browser.open(`${server.origin}/account`), {}, `Add ${other}`);
  expect(page.title).toMatch(/^Confirm that it is you/);
});
