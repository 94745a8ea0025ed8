// Tests how a client learns of and requests a second factor, with `amr`, `acr` and `acr_values`, and which facilities
// tokens then name (docs/sign-in-security.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, linkTo, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { scopes, statusAndBody } from './auth-server.ts';
import { createDevice, deviceCodeGrant } from './device-fixture.ts';
import { appSecret, codeOf, confirmAddresses, registerSecureUser, setUpApp } from './factors-fixture.ts';
import {
  authorizeUrl,
  exchangeCode,
  passwordTokens,
  redirectParameters,
  refreshTokens,
  signInAndConsent,
  webClient,
  webRequest,
} from './flows.ts';
import { accountOf, facilitiesOf } from './portal-fixture.ts';
import { startSocialServer } from './social-server.ts';
import { ageSignIns, password, registerUser, type TestUser } from './test-users.ts';

const server = useFixture(() => startSocialServer());

const scope = `openid offline_access ${scopes.play}`;
const open = (browser: FormBrowser, params: Record<string, string> = {}): Promise<Page> =>
  browser.open(authorizeUrl(server, { ...webRequest, scope, ...params }));

async function claimsOf(body: Record<string, unknown>) {
  const access = decodeJwt(String(body.access_token));
  const id = body.id_token === undefined ? undefined : decodeJwt(String(body.id_token));
  const { amr, acr, auth_time: authTime } = access;
  if (id) expect(id.amr).toEqual(amr);
  return { amr, acr, authTime, idAcr: id?.acr, refresh_token: body.refresh_token };
}

/** Consents if the page asks for it, and returns the claims of the tokens. */
const claimsAfter = async (browser: FormBrowser, page: Page) => {
  const { code } = redirectParameters(await signInAndConsent(browser, page));
  return claimsOf(await exchangeCode(server, code));
};

const asksForCode = ({ url }: Page): boolean => url.pathname === '/sign-in/second-factor';

test('amr names the methods; without acr_values there is no acr', async () => {
  const { browser, other } = await registerSecureUser(server);
  expect(await claimsAfter(other, await open(other))).toMatchObject({ amr: ['pwd'], acr: undefined });
  const elevated = await claimsAfter(browser, await open(browser));
  expect(elevated).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: undefined, idAcr: undefined });
});

describe('acr_values=2', () => {
  test('asks only for the missing factor, and acr, amr and auth_time survive a refresh', async () => {
    const { other } = await registerSecureUser(server);
    const asked = await open(other, { acr_values: '2' });
    expect(asksForCode(asked)).toBe(true);
    const claims = await claimsAfter(other, await other.send(asked, { code: codeOf(appSecret) }));
    expect(claims).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: '2', idAcr: '2' });
    const { refresh_token: _first, ...refreshed } = await claimsOf(await refreshTokens(server, claims, webClient));
    const { refresh_token: _second, ...before } = claims;
    expect(refreshed).toEqual(before);
    // The elevated session needs no further prompt, and another request does not get the acr.
    expect(await claimsAfter(other, await open(other, { acr_values: '2' }))).toMatchObject({ acr: '2' });
    expect(await claimsAfter(other, await open(other))).toMatchObject({ acr: undefined });
  });

  test('a user without a factor must set one up, also when the flow is started again', async () => {
    const { browser } = await registerUser(server);
    for (let round = 0; round < 2; round++) {
      const page = await open(browser, { acr_values: '2' });
      expect([page.url.pathname, page.title]).toEqual(['/account/security', 'Sign-in security · Bay Booking']);
    }
    await confirmAddresses(server);
    const page = await open(browser, { acr_values: '2' });
    const { page: codes } = await setUpApp(server, browser, linkTo(page, 'Set up an authenticator app'));
    const claims = await claimsAfter(browser, await browser.open(linkTo(codes, 'saved')));
    expect(claims).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: '2' });
  });

  test('works without openid, with unknown values, and for a pushed request', async () => {
    const { other } = await registerSecureUser(server);
    const asked = await open(other, { acr_values: '2', scope: scopes.play });
    expect(asksForCode(asked)).toBe(true);
    const claims = await claimsAfter(other, await other.send(asked, { code: codeOf(appSecret) }));
    expect(claims).toMatchObject({ acr: '2', idAcr: undefined });

    const { other: third } = await registerSecureUser(server);
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
    const { other } = await registerSecureUser(server);
    const page = await open(other, { acr_values: '2', prompt: 'none' });
    expect(redirectParameters(page)).toMatchObject({ error: 'login_required' });
  });

  test('max_age asks for both factors again', async () => {
    const { browser, username } = await registerSecureUser(server);
    await ageSignIns(server, 90);
    const signIn = await open(browser, { acr_values: '2', max_age: '60' });
    expect(signIn.title).toMatch(/^Sign in/);
    const asked = await browser.send(signIn, { username, password });
    const claims = await claimsAfter(browser, await browser.send(asked, { code: codeOf(appSecret) }));
    expect(claims.acr).toBe('2');
    expect(Number(claims.authTime)).toBeGreaterThan(Date.now() / 1000 - 60);
  });

  test.each(['idp:google 2', '2 idp:google'])('together with a social provider: %s', async (acrValues) => {
    const browser = openFormBrowser([server.origin, server.social.origin]);
    const login = await open(browser, { acr_values: acrValues });
    expect(login.url.origin).toBe(server.social.origin);
    const user = acrValues.startsWith('2') ? '100001' : '100002';
    const setUp = await browser.send(login, {}, { name: 'user', value: user });
    const { page } = await setUpApp(server, browser, linkTo(setUp, 'Set up an'));
    const claims = await claimsAfter(browser, await browser.open(linkTo(page, 'saved')));
    expect(claims).toMatchObject({ amr: ['fed', 'otp', 'mfa'], acr: '2', idAcr: '2' });
    const again = await claimsAfter(browser, await open(browser, { acr_values: 'idp:google' }));
    expect(again.acr).toBe('idp:google');
  });
});

describe('tokens leave out a facility that requires a second factor, unless the sign-in used one', () => {
  type Body = Record<string, unknown>;

  const screen = { client_id: 'bookings-screen' };
  const scope = `openid roles offline_access ${scopes.bookings}`;
  beforeAll(async () => {
    await server.load({
      facilities: [
        { id: 'fac-strict', name: 'Strict' },
        { id: 'fac-open', name: 'Open' },
      ],
      accounts: [accountOf('machine', { 'fac-strict': 'facility-manager' }, { kind: 'service' })],
      clients: [
        { client_id: 'pat-strict', client_secret: 's', accountId: 'acc-machine' },
        { ...screen, grant_types: [deviceCodeGrant, 'refresh_token'], scope },
      ],
    });
    await server.db('facility').where({ id: 'fac-strict' }).update({ requires_second_factor: true });
  });

  const addMember = async (
    register: (at: typeof server) => Promise<Pick<TestUser, 'username' | 'browser'>> = registerUser,
  ) => {
    const user = await register(server);
    await server.db.raw(
      `insert into membership (facility_id, account_id, role)
     select f.id, a.id, f.role from account a, (values ('fac-strict', 'owner'), ('fac-open', 'staff')) f (id, role)
      where a.username = ?`,
      [user.username],
    );
    return user;
  };

  const authorize = async (browser: FormBrowser, request: Record<string, string>) =>
    redirectParameters(await signInAndConsent(browser, await browser.open(authorizeUrl(server, request))));
  const byCode = async (browser: FormBrowser, request: Record<string, string> = {}) =>
    exchangeCode(server, (await authorize(browser, { ...webRequest, scope, ...request })).code);
  const implicitly = async (browser: FormBrowser): Promise<Body> =>
    authorize(browser, {
      client_id: 'demo-spa',
      redirect_uri: 'http://localhost:4010/spa',
      response_type: 'id_token token',
      scope: `openid roles ${scopes.bookings}`,
      nonce: 'n',
    });
  const byDevice = async (browser: FormBrowser): Promise<Body> => {
    const device = createDevice(server);
    const started = await device.start({ ...screen, scope });
    await device.connect(started, { browser });
    return device.poll(started, { form: screen });
  };

  const facilityRolesOf = (roles: unknown): readonly string[] =>
    (roles as string[]).filter((role) => role.startsWith('range-')).sort();
  const rolesOf = ({ id_token: token }: Body) => facilityRolesOf(decodeJwt(String(token)).roles);
  const rolesAtUserinfo = async ({ access_token: token }: Body) =>
    facilityRolesOf((await statusAndBody(await server.userinfo(token))).roles);

  const flows: readonly (readonly [string, (browser: FormBrowser) => Promise<Body>])[] = [
    ['the code flow', byCode],
    ['a refresh', async (browser) => refreshTokens(server, await byCode(browser), webClient)],
    ['the implicit flow', implicitly],
    ['the device flow', byDevice],
    ['a refresh of a device', async (browser) => refreshTokens(server, await byDevice(browser), screen)],
  ];

  test.each(flows)('%s names the facility only after a sign-in with two factors', async (_name, run) => {
    const { browser: oneFactor } = await addMember();
    const without = await run(oneFactor);
    expect([facilitiesOf(without), rolesOf(without)]).toEqual([['fac-open'], ['range-staff']]);
    expect(await rolesAtUserinfo(without)).toEqual(['range-staff']);
    const { browser: twoFactors } = await addMember(registerSecureUser);
    const withFactor = await run(twoFactors);
    expect(facilitiesOf(withFactor)).toEqual(['fac-open', 'fac-strict']);
    expect(rolesOf(withFactor)).toEqual(['range-owner', 'range-staff']);
    expect(await rolesAtUserinfo(withFactor)).toEqual(['range-owner', 'range-staff']);
  });

  // The function that issues the tokens of this grant type also issues those of `social_access_token`.
  test('the grant type password leaves the facility out, also for a refresh', async () => {
    const { username } = await addMember();
    const tokens = await passwordTokens(server, { username, password }, `offline_access ${scopes.bookings}`);
    expect(facilitiesOf(tokens)).toEqual(['fac-open']);
    expect(facilitiesOf(await refreshTokens(server, tokens))).toEqual(['fac-open']);
  });

  test('requesting the facility by name is an error, and the code stays usable', async () => {
    const { browser } = await addMember();
    const { code } = await authorize(browser, { ...webRequest, scope });
    const refused = await exchangeCode(server, code, { facility: 'fac-strict' });
    expect(refused).toMatchObject({ status: 400, error: 'invalid_request' });
    expect(facilitiesOf(await exchangeCode(server, code, { facility: 'fac-open' }))).toEqual(['fac-open']);
  });

  test('a personal access token is not affected', async () => {
    const form = { client_id: 'pat-strict', client_secret: 's', grant_type: 'client_credentials' };
    expect(facilitiesOf(await server.token({ ...form, scope: scopes.bookings }))).toEqual(['fac-strict']);
  });
});
