// Tests the pages on which a user signs in or registers, and then consents (specification, "Authorization code flow",
// step 2, and "Scopes", rule 3).
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, linkTo, type Page } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { scopes, startAuthServer } from './auth-server.ts';
import {
  allow,
  authorizeUrl,
  deny,
  exchangeCode,
  openBrowser,
  owner,
  player,
  redirectParameters,
  refreshTokens,
  signInAndConsent,
  webClient,
  webRequest,
} from './flows.ts';

const server = useFixture(() => startAuthServer());

/** Returns the URL of an authorization request of demo-web. */
const requestUrl = (params: Record<string, string> = {}): string =>
  authorizeUrl(server, {
    ...webRequest,
    scope: `openid profile offline_access ${scopes.play}`,
    state: 'st',
    ...params,
  });
/** Exchanges the code that the page's URL contains. */
const exchange = (page: Page) => exchangeCode(server, page.url.searchParams.get('code'));
/** Returns the scopes that the user may decline on a consent page. Unless a test sends others, all stay checked. */
const optionalScopes = (page: Page): string[] =>
  page.forms.flatMap(({ fields }) => fields.filter(({ name }) => name === 'scope').map(({ value }) => value));
const grantedScope = (page: Page) => page.url.searchParams.get('scope');
const errorOf = (page: Page) => page.url.searchParams.get('error');
/** Requests the scopes, signs in, and returns the consent page, also if the user has decided about them before. */
const openConsent = async (browser: FormBrowser, scope: string, client: Record<string, string> = {}): Promise<Page> =>
  browser.submit(requestUrl({ scope, prompt: 'consent', ...client }), player);

test('the consent page names every scope in words', async () => {
  const page = await openConsent(openBrowser(server), scopes.all.join(' '));
  const textsOf = (className: string) =>
    [...page.html.matchAll(new RegExp(`class="${className}"[^>]*>([^<]*)<`, 'g'))].map(([, text = '']) => text.trim());
  const [titles, details] = [textsOf('row-name'), textsOf('row-detail')];
  expect(new Set(titles).size).toBe(scopes.all.length);
  expect(details).toHaveLength(scopes.all.length);
  for (const text of [...titles, ...details]) expect(text).toMatch(/^[A-Z][^/]+$/);
});

describe('the user logs in, then consents', () => {
  test('after sign-in and consent, the redirect has code and scope', async () => {
    const browser = openBrowser(server);
    const signIn = await browser.open(requestUrl({ prompt: 'consent' }));
    expect(signIn.title).toMatch(/^Sign in/);
    const consent = await browser.send(signIn, player);
    expect(consent.title).toMatch(/^Allow access/);
    expect(optionalScopes(consent)).toEqual(['profile', 'offline_access', scopes.play]);
    const back = await browser.send(consent, {}, allow);
    expect(back.url.href).toMatch(/^http:\/\/localhost:4010\/callback\?/);
    const scope = `openid profile offline_access ${scopes.play}`;
    expect(redirectParameters(back)).toEqual({ code: expect.any(String), scope, state: 'st', iss: server.origin });
    const tokens = await exchange(back);
    expect(tokens).toMatchObject({ status: 200, token_type: 'Bearer', refresh_token: expect.any(String) });
    expect(decodeJwt(String(tokens.id_token))).toMatchObject({ sub: 'acc-player', name: 'Pat Player' });
  });

  test('the decision is remembered in every browser until the scopes grow, and is added to earlier ones', async () => {
    const [first, second, third] = [openBrowser(server), openBrowser(server), openBrowser(server)];
    const all = `openid profile email ${scopes.play}`;
    await first.send(await openConsent(first, all), { scope: ['profile', scopes.play] }, allow);
    for (const browser of [first, second]) {
      const back = await signInAndConsent(browser, await browser.open(requestUrl({ scope: all })), player, deny);
      expect(grantedScope(back)).toBe(`openid profile ${scopes.play}`);
    }
    const more = await second.open(requestUrl({ scope: 'openid email roles' }));
    expect(optionalScopes(more)).toEqual(['email', 'roles']);
    await second.send(more, { scope: ['email'] }, allow);
    const scope = `${all} roles`;
    for (const browser of [first, second, third]) {
      const back = await signInAndConsent(browser, await browser.open(requestUrl({ scope })), player, deny);
      expect(grantedScope(back)).toBe(all);
    }
    // Another user decides for themselves.
    const other = openBrowser(server);
    expect((await other.submit(requestUrl({ scope: 'openid' }), owner)).title).toMatch(/^Allow access/);
  });

  test('each session has its own grant, which `prompt=none` gets without a page', async () => {
    const scope = `openid offline_access ${scopes.play}`;
    const [first, second] = [openBrowser(server), openBrowser(server)];
    const tokens = await exchange(await first.send(await openConsent(first, scope), {}, allow));
    await second.submit('/sign-in', player);
    const others = await exchange(await second.open(requestUrl({ scope, prompt: 'none' })));
    await server.post('/connect/revocation', { ...webClient, token: String(tokens.refresh_token) });
    expect(await refreshTokens(server, others, webClient)).toMatchObject({ status: 200 });
  });

  test.each([
    ['a public client on a loopback address', { token_endpoint_auth_method: 'none' }, 'http://localhost:4010/p', true],
    ['a native app on a custom scheme', { application_type: 'native' }, 'com.example.app:/callback', true],
    ['a public client on https', { token_endpoint_auth_method: 'none' }, 'https://app.example/callback', false],
    ['a native app on https', { application_type: 'native' }, 'https://app.example/callback', false],
  ])('in another browser, %s asks again: %#', async (name, metadata, redirectUri, asksAgain) => {
    const client = { client_id: name.replaceAll(' ', '-'), redirect_uri: redirectUri };
    const registered = { client_id: client.client_id, redirect_uris: [redirectUri], scope: 'openid', ...metadata };
    await server.load({ clients: [registered] });
    const [first, second] = [openBrowser(server), openBrowser(server)];
    await first.send(await openConsent(first, 'openid', client), {}, allow);
    const page = await second.submit(requestUrl({ scope: 'openid', ...client }), player);
    expect(page.title.startsWith('Allow access')).toBe(asksAgain);
  });

  test('a program of the operator gets what it asks for without a page, unless it sends `prompt=consent`', async () => {
    const redirectUri = 'http://localhost:4010/own';
    const client = { client_id: 'own', redirect_uri: redirectUri };
    const registered = { client_id: 'own', redirect_uris: [redirectUri], scope: scopes.all.join(' ') };
    await server.load({ clients: [{ ...registered, skip_consent: true }] });
    const browser = openBrowser(server);
    const back = await browser.send(await openConsent(browser, 'openid email', client), { scope: [] }, allow);
    expect(grantedScope(back)).toBe('openid');
    const scope = `openid email ${scopes.bookings}`;
    for (const params of [{}, { prompt: 'none' }]) {
      expect(grantedScope(await browser.open(requestUrl({ scope, ...client, ...params })))).toBe(scope);
    }
    const forbidden = await browser.open(requestUrl({ scope: `${scope} unknown`, ...client }));
    expect(errorOf(forbidden)).toBe('invalid_scope');
    // The choice of the user counts again for a client that is no longer of the operator.
    await server.load({ clients: [{ ...registered, skip_consent: false }] });
    const other = openBrowser(server);
    expect((await other.submit(requestUrl({ scope, ...client }), player)).title).toMatch(/^Allow/);
  });

  test('if the user denies, the redirect has the error access_denied', async () => {
    const browser = openBrowser(server);
    const consent = await openConsent(browser, 'openid');
    const back = await browser.send(consent, {}, deny);
    expect(errorOf(back)).toBe('access_denied');
    expect(back.url.searchParams.get('state')).toBe('st');
    expect(back.url.searchParams.get('code')).toBeNull();
    // Declining every scope is a denial too.
    const other = openBrowser(server);
    const declined = await other.send(await openConsent(other, scopes.play), { scope: [] }, allow);
    expect(errorOf(declined)).toBe('access_denied');
  });

  test.each(['sign-in', 'register'])(
    'phones show a keyboard for addresses at /%s, and browsers send what was typed',
    async (page) => {
      const { html } = await openBrowser(server).open(`/${page}`);
      expect(html).toMatch(/<input id="username" name="username" type="text"[^>]* inputmode="email"/);
    },
  );

  test('after a failed sign-in, the sign-in page still names the client', async () => {
    const browser = openBrowser(server);
    const signIn = await browser.open(requestUrl());
    const failed = await browser.send(signIn, { ...player, password: 'not the password' });
    expect(failed.status).toBe(400);
    for (const { html } of [signIn, failed]) expect(html).toContain('to continue to <strong>Demo web</strong>');
  });
});

describe('a client may be granted fewer scopes than requested', () => {
  const requested = `openid profile email roles offline_access ${scopes.play} ${scopes.bookings}`;

  test('the redirect and the token response list the granted scopes', async () => {
    const browser = openBrowser(server);
    const consent = await openConsent(browser, requested);
    expect(optionalScopes(consent)).not.toContain('openid');
    const back = await browser.send(consent, { scope: ['profile', scopes.play] }, allow);
    expect(grantedScope(back)).toBe(`openid profile ${scopes.play}`);
    const tokens = await exchange(back);
    expect(tokens.scope).toBe(`openid profile ${scopes.play}`);
    expect(tokens.refresh_token).toBeUndefined();
    // In the same session, the server does not ask for declined scopes again.
    const repeated = await browser.open(requestUrl({ scope: requested }));
    expect(grantedScope(repeated)).toBe(`openid profile ${scopes.play}`);
    // With `prompt=consent` the server asks again, and the new decision replaces the earlier one.
    const newConsent = await browser.open(requestUrl({ scope: requested, prompt: 'consent' }));
    expect(optionalScopes(newConsent)).toContain('email');
    const changed = await browser.send(newConsent, { scope: ['email', scopes.bookings] }, allow);
    expect(grantedScope(changed)).toBe(`openid email ${scopes.bookings}`);
  });

  test('the consent page asks again for a declined scope if no other requested scope would be granted', async () => {
    const browser = openBrowser(server);
    await browser.send(await openConsent(browser, `openid profile ${scopes.play}`), { scope: ['profile'] }, allow);
    const silent = await browser.open(requestUrl({ scope: scopes.play, prompt: 'none' }));
    expect(errorOf(silent)).toBe('consent_required');
    for (const scope of [scopes.play, `${scopes.play} offline_access`]) {
      const consent = await browser.open(requestUrl({ scope }));
      expect(consent.title).toMatch(/^Allow access/);
      expect(errorOf(await browser.send(consent, {}, deny))).toBe('access_denied');
    }
    const back = await browser.submit(requestUrl({ scope: scopes.play }), {}, allow);
    expect(grantedScope(back)).toBe(scopes.play);
  });

  test('a scope that was not requested is not granted, even if the form contains it', async () => {
    const browser = openBrowser(server);
    const consent = await openConsent(browser, `openid ${scopes.play}`);
    const back = await browser.send(consent, { scope: [scopes.play, scopes.bookings, 'offline_access'] }, allow);
    expect(grantedScope(back)).toBe(`openid ${scopes.play}`);
  });

  test('driving-range clients need openid, profile, roles and play; the other scopes are optional', async () => {
    const browser = openBrowser(server);
    const scope = `openid profile roles email offline_access ${scopes.play}`;
    const client = { client_id: 'demo-range', redirect_uri: 'http://localhost:4010/range' };
    const consent = await openConsent(browser, scope, client);
    expect(optionalScopes(consent)).toEqual(['email', 'offline_access']);
    const back = await browser.send(consent, { scope: [] }, allow);
    expect(grantedScope(back)).toBe(`openid profile roles ${scopes.play}`);
  });
});

describe('the user logs in or registers', () => {
  const newcomer = (name: string) => ({
    name: 'Nora Newcomer',
    username: `${name}@example.org`,
    password: 'seven unusual lamps',
  });
  /** Sends the registration form in a new browser. */
  const register = async (fields: Record<string, string>): Promise<Page> => {
    const browser = openBrowser(server);
    return browser.submit('/register', fields);
  };

  test('registering signs the user in, with an address that is not confirmed', async () => {
    const browser = openBrowser(server);
    const signIn = await browser.open(requestUrl({ scope: `openid email ${scopes.play}` }));
    const consent = await browser.submit(linkTo(signIn, 'Create an account'), newcomer('nora'));
    expect(consent.title).toMatch(/^Allow access/);
    const tokens = await exchange(await browser.send(consent, {}, allow));
    const claims = decodeJwt(String(tokens.id_token));
    expect(claims).toMatchObject({ email: 'nora@example.org', email_verified: false });
  });

  test('an invalid value is reported next to its field, and every field but the password stays filled in', async () => {
    const page = await register({ name: '', username: 'nobody', password: 'secret7' });
    expect(page.status).toBe(400);
    expect(page.title).toMatch(/^Error: /);
    for (const field of ['name', 'username', 'password']) {
      expect(page.html).toContain(`id="${field}-error"`);
      expect(page.html).toMatch(
        new RegExp(`id="${field}"[^>]*aria-describedby="[^"]*${field}-error[^"]*" aria-invalid="true"`),
      );
    }
    expect(page.forms.flatMap((form) => form.fields)).toContainEqual(
      expect.objectContaining({ name: 'username', value: 'nobody' }),
    );
    expect(page.html).not.toContain('secret7');
  });

  test.each([
    ['PLAYER@example.com\u200b', 409, 'There is already an account with this address'],
    ['player@\u00adexample.com', 409, 'There is already an account with this address'],
    ['\u212aate1@example.com', 400, 'Replace “\u212a” with ordinary letters or digits.'],
    ['İvan@example.com', 400, 'Replace “İ” with ordinary letters or digits.'],
    [`x@${'é'.repeat(60)}.example`, 400, 'Enter an e-mail address'],
  ])('the user name %j is refused', async (username, status, text) => {
    const page = await register({ ...newcomer('x'), username });
    expect([page.status, page.html]).toEqual([status, expect.stringContaining(text)]);
  });
});
