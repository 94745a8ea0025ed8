// Tests `amr`, `acr` and `acr_values`: how a client learns of and requests a second factor (docs/sign-in-security.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type AuthServer, scopes, statusAndBody } from './auth-server.ts';
import { codeOf, confirmAddresses, forgetUsedCodes, setUpApp } from './factors-fixture.ts';
import { authorizeUrl, pkce, redirectParameters, signInAndConsent, webRequest } from './flows.ts';
import { startSocialServer } from './social-server.ts';
import { password, registerUser } from './test-users.ts';

const fixture = useFixture(() => startSocialServer());
let server: AuthServer;
beforeAll(() => {
  server = fixture.server;
});

const scope = `openid offline_access ${scopes.play}`;
const open = (browser: FormBrowser, params: Record<string, string> = {}): Promise<Page> =>
  browser.open(authorizeUrl(server, { ...webRequest, scope, ...params }));

async function claimsOf(body: Record<string, unknown>) {
  const access = decodeJwt(String(body.access_token));
  const id = body.id_token === undefined ? undefined : decodeJwt(String(body.id_token));
  const { amr, acr, auth_time: authTime } = access;
  if (id) expect(id.amr).toEqual(amr);
  return { amr, acr, authTime, idAcr: id?.acr, refreshToken: String(body.refresh_token) };
}

const webClient = { client_id: 'demo-web', client_secret: 'demo-web-secret' };
const exchange = async (page: Page) => {
  const { code } = redirectParameters(page);
  const form = { grant_type: 'authorization_code', code: String(code), code_verifier: pkce.verifier };
  const redirect = { redirect_uri: webRequest.redirect_uri };
  return claimsOf(await statusAndBody(await server.post('/connect/token', { ...webClient, ...form, ...redirect })));
};
const refresh = async (refreshToken: string) => {
  const form = { ...webClient, grant_type: 'refresh_token', refresh_token: refreshToken };
  return claimsOf(await statusAndBody(await server.post('/connect/token', form)));
};
const consented = (browser: FormBrowser, page: Page) => signInAndConsent(browser, page);

const asksForCode = ({ url }: Page): boolean => url.pathname === '/sign-in/second-factor';

/** Returns a browser that is signed in with two factors, and a browser that is signed in with the password only. */
async function twoBrowsers() {
  const user = await registerUser(server);
  const other = openFormBrowser([server.origin]);
  const credentials = { username: user.username, password };
  await other.send(await other.open(`${server.origin}/account`), credentials);
  // An import ends no session, unlike the set-up of the first factor.
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const { id } = await server.db('account').where({ username: user.username }).first('id');
  await server.load({ accounts: [{ id, username: user.username, totpSecret: secret, recoveryCodes: [] }] });
  const asked = await user.browser.open(`${server.origin}/sign-in/second-factor?return=/account`);
  await user.browser.send(asked, { code: codeOf(secret) });
  await forgetUsedCodes(server);
  return { ...user, other, secret, credentials };
}

test('amr names the methods; without acr_values there is no acr', async () => {
  const { browser, other } = await twoBrowsers();
  expect(await exchange(await consented(other, await open(other)))).toMatchObject({ amr: ['pwd'], acr: undefined });
  const elevated = await exchange(await consented(browser, await open(browser)));
  expect(elevated).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: undefined, idAcr: undefined });
});

describe('acr_values=2', () => {
  test('asks only for the missing factor, and acr, amr and auth_time survive a refresh', async () => {
    const { other, secret } = await twoBrowsers();
    const asked = await open(other, { acr_values: '2' });
    expect(asksForCode(asked)).toBe(true);
    const claims = await exchange(await consented(other, await other.send(asked, { code: codeOf(secret) })));
    expect(claims).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: '2', idAcr: '2' });
    const { refreshToken: _first, ...refreshed } = await refresh(claims.refreshToken);
    const { refreshToken: _second, ...before } = claims;
    expect(refreshed).toEqual(before);
    // The elevated session needs no further prompt, and another request does not get the acr.
    expect(await exchange(await consented(other, await open(other, { acr_values: '2' })))).toMatchObject({ acr: '2' });
    expect(await exchange(await consented(other, await open(other)))).toMatchObject({ acr: undefined });
  });

  test('a user without a factor must set one up, also when the flow is started again', async () => {
    const { browser } = await registerUser(server);
    for (let round = 0; round < 2; round++) {
      const page = await open(browser, { acr_values: '2' });
      expect([page.url.pathname, page.title]).toEqual(['/account/security', 'Sign-in security · Bay Booking']);
    }
    await confirmAddresses(server);
    const page = await open(browser, { acr_values: '2' });
    const link = page.links.find(({ text }) => text.includes('Set up an authenticator app'))?.href ?? '';
    const { page: codes } = await setUpApp(server, browser, link);
    const next = codes.links.find(({ text }) => text.includes('saved'))?.href ?? '';
    const claims = await exchange(await consented(browser, await browser.open(next)));
    expect(claims).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: '2' });
  });

  test('works without openid, with unknown values, and for a pushed request', async () => {
    const { other, secret } = await twoBrowsers();
    const asked = await open(other, { acr_values: '2', scope: scopes.play });
    expect(asksForCode(asked)).toBe(true);
    const claims = await exchange(await consented(other, await other.send(asked, { code: codeOf(secret) })));
    expect(claims).toMatchObject({ acr: '2', idAcr: undefined });

    const { other: third } = await twoBrowsers();
    expect(asksForCode(await open(third, { acr_values: 'gold 2' }))).toBe(true);
    expect((await open(third, { acr_values: 'gold' })).title).toMatch(/^Allow/);
    // A client that prefers one factor gets what is there.
    expect((await open(third, { acr_values: '1 2' })).title).toMatch(/^Allow/);
    const form = { ...webClient, ...webRequest, scope, acr_values: '2' };
    const pushed = await statusAndBody(await server.post('/connect/par', form));
    const parameters = { client_id: 'demo-web', request_uri: String(pushed.request_uri) };
    expect(asksForCode(await third.open(authorizeUrl(server, parameters)))).toBe(true);
  });

  test('prompt=none returns login_required', async () => {
    const { other } = await twoBrowsers();
    const page = await open(other, { acr_values: '2', prompt: 'none' });
    expect(redirectParameters(page)).toMatchObject({ error: 'login_required' });
  });

  test('max_age asks for both factors again', async () => {
    const { browser, secret, credentials } = await twoBrowsers();
    await server.db.raw(
      `update oidc_artifact set payload = jsonb_set(payload, '{loginTs}', to_jsonb(extract(epoch from now())::int - 90))
        where model = 'Session'`,
    );
    const signIn = await open(browser, { acr_values: '2', max_age: '60' });
    expect(signIn.title).toMatch(/^Sign in/);
    const asked = await browser.send(signIn, credentials);
    const claims = await exchange(await consented(browser, await browser.send(asked, { code: codeOf(secret) })));
    expect(claims.acr).toBe('2');
    expect(Number(claims.authTime)).toBeGreaterThan(Date.now() / 1000 - 60);
  });

  test.each(['idp:google 2', '2 idp:google'])('together with a social provider: %s', async (acrValues) => {
    const browser = openFormBrowser([server.origin, fixture.social.origin]);
    const login = await open(browser, { acr_values: acrValues });
    expect(login.url.origin).toBe(fixture.social.origin);
    const user = acrValues.startsWith('2') ? '100001' : '100002';
    const setUp = await browser.send(login, {}, { name: 'user', value: user });
    const { page } = await setUpApp(server, browser, setUp.links.find(({ text }) => text.includes('Set up an'))?.href);
    const next = page.links.find(({ text }) => text.includes('saved'))?.href ?? '';
    const claims = await exchange(await consented(browser, await browser.open(next)));
    expect(claims).toMatchObject({ amr: ['fed', 'otp', 'mfa'], acr: '2', idAcr: '2' });
    expect(await exchange(await consented(browser, await open(browser, { acr_values: 'idp:google' })))).toMatchObject({
      acr: 'idp:google',
    });
  });

  test('is published', async () => {
    const metadata = await (await fetch(`${server.origin}/.well-known/openid-configuration`)).json();
    expect(metadata).toMatchObject({ acr_values_supported: expect.arrayContaining(['2']) });
  });
});

test('the grants of users without a second factor name the method', async () => {
  const { username } = await registerUser(server);
  const body = await statusAndBody(
    await server.post('/connect/token', {
      grant_type: 'password',
      client_id: 'demo-native',
      scope: `${scopes.play} offline_access`,
      username,
      password,
    }),
  );
  expect(await claimsOf(body)).toMatchObject({ amr: ['pwd'] });
});
