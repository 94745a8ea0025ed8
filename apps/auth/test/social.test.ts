// Tests the sign-in at social providers and the exchange of native tokens (specification, "Social identity provider
// login" and "Native social token exchange").
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, fieldOf, linkTo, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { scopes } from './auth-server.ts';
import { createDevice } from './device-fixture.ts';
import { allow, authorizeUrl, owner, player, redirectParameters } from './flows.ts';
import { startSocialServer } from './social-server.ts';

// Nothing listens at this issuer. Without the setting `nativeAudiences`, the provider accepts no native token.
const unreachable = { type: 'oidc', issuer: 'http://localhost:1', clientId: 'c', clientSecret: 's' };
const server = useFixture(() => startSocialServer({ ACCESS_TOKEN_TTL: '900' }, { unreachable }));

/** The ids of two users of the simulated social providers. */
const ada = '100001';
const ben = '100002';
/** The id of a user whose e-mail address is also that of the demo account `player@example.com`. */
const sameAddressAsPlayer = '100003';
const browser = (): FormBrowser => openFormBrowser([server.origin, server.social.origin]);
const client = { client_id: 'demo-native', redirect_uri: 'com.example.demo:/callback' };
const authorize = (params: Record<string, string> = {}): string =>
  authorizeUrl(server, { ...client, response_type: 'code', scope: `offline_access ${scopes.play}`, ...params });
const redeem = (page: Page) =>
  server.token({ ...client, grant_type: 'authorization_code', code: String(redirectParameters(page).code) });
/** Begins the sign-in of a client at the provider, in a new browser. `login` is the page of the provider. */
const begin = async (name: 'google' | 'facebook', params: Record<string, string> = {}) => {
  const visitor = browser();
  return { visitor, login: await visitor.open(authorize({ acr_values: `idp:${name}`, ...params })) };
};
/** Signs in at the provider, and returns the tokens of the client. */
const tokensOf = async ({ visitor, login }: Awaited<ReturnType<typeof begin>>, user: string) =>
  redeem(await visitor.send(await signInAs(visitor, login, user), {}, allow));
const expectSignInPageOf = (name: string, page: Page): void =>
  expect(page.url.href).toContain(`${server.social.origin}/${name}/authorize`);
const titles = { google: 'Google', facebook: 'Facebook' };
const choose = (visitor: FormBrowser, page: Page, name: 'google' | 'facebook'): Promise<Page> =>
  visitor.open(linkTo(page, titles[name]));
/** Signs in at the provider, or cancels there if `user` is empty. */
const signInAs = (visitor: FormBrowser, page: Page, user: string) =>
  visitor.send(page, {}, { name: 'user', value: user });

/**
 * Signs in as `user` at the provider, or cancels there if `user` is empty. Returns the callback address to which the
 * provider redirects.
 */
const callbackFor = async (login: Page, user: string): Promise<URL> => {
  const response = await fetch(login.url, { method: 'POST', body: new URLSearchParams({ user }), redirect: 'manual' });
  return new URL(response.headers.get('location') ?? '');
};

describe.each(['google', 'facebook'] as const)('acr_values=idp:%s', (name) => {
  test('the user signs in, an account is created, and the code gives access_token and refresh_token', async () => {
    const { visitor, login } = await begin(name);
    expectSignInPageOf(name, login);
    const consent = await signInAs(visitor, login, ada);
    expect(consent.title).toMatch(/^Allow access/);
    const tokens = await redeem(await visitor.send(consent, {}, allow));
    expect(tokens).toMatchObject({ status: 200, access_token: expect.any(String), refresh_token: expect.any(String) });
    const { sub } = decodeJwt(String(tokens.access_token));
    const otherTokens = await tokensOf(await begin(name), ada);
    expect(decodeJwt(String(otherTokens.access_token)).sub).toBe(sub);
  });

  test('with openid, the id_token contains the name and the address of the user', async () => {
    const tokens = await tokensOf(await begin(name, { scope: `openid profile email ${scopes.play}` }), ada);
    expect(decodeJwt(String(tokens.id_token))).toMatchObject({
      name: 'Ada Fairway',
      email: 'ada@social.example',
      // Facebook does not report whether an address is verified, so it counts as not verified.
      email_verified: name === 'google',
    });
  });

  test('a browser that is signed in to another account changes to the account of the provider’s user', async () => {
    const visitor = browser();
    const signedIn = await visitor.submit('/sign-in?return=/signed-out', player);
    expect(signedIn.status).toBe(200);
    const login = await visitor.open(authorize({ acr_values: `idp:${name}` }));
    expectSignInPageOf(name, login);
    const tokens = await tokensOf({ visitor, login }, ben);
    expect(tokens.status).toBe(200);
    expect(decodeJwt(String(tokens.access_token)).sub).not.toBe('acc-player');
  });

  test('a user who cancels returns to the client with access_denied if acr_values chose the provider', async () => {
    const { visitor, login } = await begin(name, { state: 'client-state' });
    const cancelled = await signInAs(visitor, login, '');
    expect(cancelled.url.href).toMatch(/^com\.example\.demo:\/callback/);
    expect(redirectParameters(cancelled)).toMatchObject({ error: 'access_denied', state: 'client-state' });
  });

  test('a user who cancels returns to the sign-in page with a notice if they chose the provider there', async () => {
    const visitor = browser();
    const cancelled = await signInAs(visitor, await choose(visitor, await visitor.open(authorize()), name), '');
    expect(cancelled.status).toBe(200);
    expect(cancelled.title).toMatch(/^Sign in/);
    expect(cancelled.html).toContain(`You cancelled signing in with ${titles[name]}`);
    const login = await choose(visitor, cancelled, name);
    expect((await tokensOf({ visitor, login }, ada)).status).toBe(200);
  });

  test('after an error of the provider, a page has links to try again and to sign in another way', async () => {
    const { visitor, login } = await begin(name);
    const callback = await callbackFor(login, '');
    callback.searchParams.set('error', 'server_error');
    const failure = await visitor.open(callback);
    expect(failure.status).toBe(502);
    expect(failure.title).toMatch(/did not work/);
    expectSignInPageOf(name, await visitor.open(linkTo(failure, `Try ${titles[name]} again`)));
    const others = await visitor.open(linkTo(failure, 'Other ways to sign in'));
    expect(others.title).toMatch(/^Sign in/);
    const cancelled = await visitor.send(others, {}, 'Cancel');
    expect(cancelled.url.searchParams.get('error')).toBe('access_denied');
  });

  test('a provider that is unavailable while the code is redeemed is reported on a page', async () => {
    const { visitor, login } = await begin(name);
    const callback = await callbackFor(login, ada);
    server.social.outages[name] = 'unavailable';
    const page = await visitor.open(callback).finally(() => {
      server.social.outages[name] = 'none';
    });
    expect([page.status, page.title]).toEqual([502, expect.stringMatching(/did not work/)]);
  });
});

describe('the callback', () => {
  test('the callback works only in the browser that began the sign-in', async () => {
    const { login } = await begin('google');
    const { visitor: attacker } = await begin('google');
    const stolen = await attacker.open(await callbackFor(login, ada));
    expect([stolen.status, stolen.title]).toEqual([400, expect.stringMatching(/has expired/)]);
  });

  test('the callback works only once', async () => {
    const { visitor, login } = await begin('google');
    const callback = await callbackFor(login, ada);
    expect((await visitor.open(callback)).title).toMatch(/^Allow access/);
    expect((await visitor.open(callback)).status).toBe(400);
  });

  test('the callback of one provider does not accept a response of another provider (mix-up)', async () => {
    const { visitor, login } = await begin('google');
    const callback = await callbackFor(login, ada);
    const callbackOfFacebook = new URL(callback);
    callbackOfFacebook.pathname = '/social/facebook/callback';
    expect((await visitor.open(callbackOfFacebook)).status).toBe(400);
    // `iss` names the provider that sent the response (RFC 9207).
    callback.searchParams.set('iss', 'https://evil.example');
    expect((await visitor.open(callback)).status).toBe(502);
  });

  test('the callback with an unknown provider or state shows an error page', async () => {
    expect((await browser().open('/social/nobody/callback?state=x')).status).toBe(400);
    expect((await browser().open('/social/%00/callback?state=x')).status).toBe(400);
    expect((await browser().open('/social/nobody')).status).toBe(404);
  });
});

test('a sign-in that began on our own page returns to a page of this site', async () => {
  const visitor = browser();
  const signIn = await visitor.open('/sign-in?return=/account?here');
  const login = await choose(visitor, signIn, 'google');
  expect((await signInAs(visitor, login, ada)).url.href).toBe(`${server.origin}/account?here`);
  const evil = await visitor.open('/social/google?return=//evil.example');
  expect((await signInAs(visitor, evil, ada)).url.origin).toBe(server.origin);
});

test('a user who cancels while linking a provider returns to the account page with a notice', async () => {
  const visitor = browser();
  const account = await visitor.submit('/sign-in?return=/account', player);
  const cancelled = await signInAs(visitor, await visitor.send(account, {}, 'Add Google'), '');
  expect(cancelled.url.pathname).toBe('/account');
  expect(cancelled.html).toContain('You cancelled');
  expect(cancelled.html).toContain('Add Google');
});

describe('linking a provider to an account', () => {
  test('linking a provider to an account is rejected before the e-mail address is confirmed', async () => {
    const visitor = browser();
    const newUser = { name: 'Una Unconfirmed', username: 'una@example.org', password: 'seven unusual lamps' };
    const account = await visitor.submit('/register', newUser);
    expect(account.html).toContain('Confirm your e-mail address before you add another way to sign in.');
    expect(account.html).not.toContain('Add Google');
    const form = { csrf: fieldOf(account, 'csrf') ?? '', provider: 'google' };
    expect((await visitor.post('/account/providers/add', form)).status).toBe(409);
  });

  test('linking a provider to an account informs the owner of the account by e-mail', async () => {
    // In an earlier test, `ben` signed in with this provider and got another account.
    await server.db.raw('delete from social_identity where subject = ?', [ben]);
    const visitor = browser();
    const account = await visitor.submit('/sign-in?return=/account', owner);
    const linked = await signInAs(visitor, await visitor.send(account, {}, 'Add Facebook'), ben);
    expect(linked.html).toContain('You can now sign in with this provider');
    // Without SMTP_URL, the server writes e-mails to its log.
    expect(server.log.join('\n')).toContain('Facebook was added to your account');
    await visitor.send(linked, {}, 'Remove Facebook');
  });
});

describe('social_access_token', () => {
  const request = {
    grant_type: 'social_access_token',
    client_id: 'demo-native',
    scope: `offline_access ${scopes.play}`,
  };
  const exchange = (form: Record<string, string>) => server.token({ ...request, ...form });
  const subOf = (response: Record<string, unknown>) => decodeJwt(String(response.access_token)).sub;

  test.each(['google', 'facebook'] as const)(
    'a token of %s gives a standard token response, and always the same account',
    async (provider) => {
      const first = await exchange({ token: server.social.nativeToken(provider, ben), provider });
      expect(first).toMatchObject({
        status: 200,
        token_type: 'Bearer',
        expires_in: 900,
        refresh_token: expect.any(String),
        scope: `offline_access ${scopes.play}`,
      });
      const second = await exchange({ token: server.social.nativeToken(provider, ben) });
      expect(subOf(second)).toBe(subOf(first));
    },
  );

  test('the account is the same as after a sign-in at the provider', async () => {
    const tokens = await tokensOf(await begin('google'), ada);
    const native = await exchange({ token: server.social.nativeToken('google', ada) });
    expect(subOf(native)).toBe(subOf(tokens));
  });

  test('a social identity is never linked to a local account by e-mail alone', async () => {
    const response = await exchange({ token: server.social.nativeToken('google', sameAddressAsPlayer) });
    expect(response.status).toBe(200);
    expect(subOf(response)).not.toBe('acc-player');
  });

  test.each(['google', 'facebook'] as const)(
    'an expired, foreign or malformed token of %s is invalid_grant, and so is an unknown provider',
    async (provider) => {
      const other = provider === 'google' ? 'facebook' : 'google';
      for (const token of [
        server.social.nativeToken(provider, ada, { lifetimeSeconds: -1 }),
        'made-up',
        'a b\n',
        'x'.repeat(9_000),
        server.social.nativeToken(other, ada),
      ])
        expect(await exchange({ token, provider })).toMatchObject({ status: 400, error: 'invalid_grant' });
      const token = server.social.nativeToken(provider, ada);
      expect(await exchange({ token, provider: 'nobody' })).toMatchObject({ status: 400, error: 'invalid_grant' });
    },
  );

  test.each(['unavailable', 'no-response'] as const)(
    'while a provider is %s, its tokens get 503, and the tokens of others are accepted',
    async (outage) => {
      server.social.outages.facebook = outage;
      const refused = await exchange({ token: server.social.nativeToken('facebook', ada) });
      const accepted = await exchange({ token: server.social.nativeToken('google', ada) });
      server.social.outages.facebook = 'none';
      expect(refused).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
      expect(accepted).toMatchObject({ status: 200 });
    },
  );

  test('an unavailable provider that accepts no native tokens does not change invalid_grant to 503', async () => {
    for (const form of [{ token: 'made-up' }, { token: 'made-up', provider: 'unreachable' }]) {
      expect(await exchange(form)).toMatchObject({ status: 400, error: 'invalid_grant' });
    }
  });

  test('if the first sign-in happens several times in parallel, one account is created', async () => {
    const token = server.social.nativeToken('facebook', sameAddressAsPlayer);
    const responses = await Promise.all(Array.from({ length: 16 }, () => exchange({ token, provider: 'facebook' })));
    expect(responses.map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect(new Set(responses.map(subOf)).size).toBe(1);
    // The name of this user is `Not Pat Player`.
    const accounts = server.db('account').whereLike('username', 'facebook:%');
    expect(await accounts.where({ name: 'Not Pat Player' })).toHaveLength(1);
  });

  test('the token never appears in the log', async () => {
    const token = server.social.nativeToken('google', ada, { clientId: 'somebody-elses-app' });
    await exchange({ token });
    await server.auth.waitUntilIdle();
    expect(server.log.join('\n')).not.toContain(token);
  });
});

test('the sign-in for a device begins at the provider that the device requested with acr_values', async () => {
  const device = createDevice(server);
  const form = { acr_values: 'idp:google' };
  const { codes, browser: visitor, page: login } = await device.decide(allow, { form, browser: browser() });
  expectSignInPageOf('google', login);
  const signedIn = await signInAs(visitor, login, ada);
  // The consent is remembered.
  const connected = signedIn.title.startsWith('Allow') ? await visitor.send(signedIn, {}, allow) : signedIn;
  expect(connected.title).toMatch(/^Demo screen is connected/);
  expect(decodeJwt(String((await device.poll(codes)).access_token)).acr).toBe('idp:google');
});
