// Tests that tokens of users leave out a facility that requires a second factor, unless the sign-in used one.
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, openFormBrowser } from '@bay-booking/testkit/form-browser';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type AuthServer, scopes, statusAndBody } from './auth-server.ts';
import { createDevice } from './device-fixture.ts';
import { forgetUsedCodes, setUpApp } from './factors-fixture.ts';
import { authorizeUrl, pkce, redirectParameters, signInAndConsent, webRequest } from './flows.ts';
import { startSocialServer } from './social-server.ts';
import { password, registerUser } from './test-users.ts';

type Body = Record<string, unknown>;

const screen = { client_id: 'bookings-screen' };
const fixture = useFixture(() => startSocialServer());
let server: AuthServer;
beforeAll(async () => {
  server = fixture.server;
  await server.load({
    facilities: [
      { id: 'fac-strict', name: 'Strict' },
      { id: 'fac-open', name: 'Open' },
    ],
    accounts: [
      {
        id: 'acc-machine',
        username: 'machine@strict.example',
        kind: 'service',
        memberships: [{ facilityId: 'fac-strict', role: 'facility-manager' }],
      },
    ],
    clients: [
      { client_id: 'pat-strict', client_secret: 's', accountId: 'acc-machine' },
      {
        ...screen,
        token_endpoint_auth_method: 'none',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        scope: `openid roles offline_access ${scopes.bookings}`,
      },
    ],
  });
  await server.db.raw("update facility set requires_second_factor = true where id = 'fac-strict'");
});

const webClient = { client_id: 'demo-web', client_secret: 'demo-web-secret' };
const scope = `openid roles offline_access ${scopes.bookings}`;
const requestTokens = async (form: Record<string, string>): Promise<Body> =>
  statusAndBody(await server.post('/connect/token', form));

const addMemberships = (username: string) =>
  server.db.raw(
    `insert into membership (facility_id, account_id, role)
     select f.id, a.id, f.role from account a, (values ('fac-strict', 'owner'), ('fac-open', 'staff')) f (id, role)
      where a.username = ?`,
    [username],
  );
const addMember = async () => {
  const user = await registerUser(server);
  await addMemberships(user.username);
  return user;
};
const addMemberWithFactor = async () => {
  const user = await addMember();
  await setUpApp(server, user.browser);
  await forgetUsedCodes(server);
  return user;
};

const authorize = async (browser: FormBrowser, request: Record<string, string>) =>
  redirectParameters(await signInAndConsent(browser, await browser.open(authorizeUrl(server, request))));
const exchange = (code: unknown, more: Record<string, string> = {}) =>
  requestTokens({
    ...webClient,
    grant_type: 'authorization_code',
    code: String(code),
    code_verifier: pkce.verifier,
    redirect_uri: webRequest.redirect_uri,
    ...more,
  });
const byCode = async (browser: FormBrowser, request: Record<string, string> = {}) =>
  exchange((await authorize(browser, { ...webRequest, scope, ...request })).code);
const refresh = (tokens: Body, client: Record<string, string> = webClient) =>
  requestTokens({ ...client, grant_type: 'refresh_token', refresh_token: String(tokens.refresh_token) });
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

const facilitiesOf = ({ access_token: token }: Body): unknown => decodeJwt(String(token)).facilities;
const facilityRolesOf = (roles: unknown): readonly string[] =>
  (roles as string[]).filter((role) => role.startsWith('range-')).sort();
const rolesOf = ({ id_token: token }: Body) => facilityRolesOf(decodeJwt(String(token)).roles);
const rolesAtUserinfo = async ({ access_token: token }: Body) => {
  const headers = { Authorization: `Bearer ${token}` };
  return facilityRolesOf((await statusAndBody(await fetch(`${server.origin}/connect/userinfo`, { headers }))).roles);
};

const flows: readonly (readonly [string, (browser: FormBrowser) => Promise<Body>])[] = [
  ['the code flow', byCode],
  ['a refresh', async (browser) => refresh(await byCode(browser))],
  ['the implicit flow', implicitly],
  ['the device flow', byDevice],
  ['a refresh of a device', async (browser) => refresh(await byDevice(browser), screen)],
];

test.each(flows)('%s names the facility only after a sign-in with two factors', async (_name, run) => {
  const { browser: oneFactor } = await addMember();
  const without = await run(oneFactor);
  expect([facilitiesOf(without), rolesOf(without)]).toEqual([['fac-open'], ['range-staff']]);
  expect(await rolesAtUserinfo(without)).toEqual(['range-staff']);
  const { browser: twoFactors } = await addMemberWithFactor();
  const withFactor = await run(twoFactors);
  expect(facilitiesOf(withFactor)).toEqual(['fac-open', 'fac-strict']);
  expect(rolesOf(withFactor)).toEqual(['range-owner', 'range-staff']);
  expect(await rolesAtUserinfo(withFactor)).toEqual(['range-owner', 'range-staff']);
});

test('the grants password and social_access_token leave the facility out, also for a refresh', async () => {
  const native = { client_id: 'demo-native', scope: `offline_access ${scopes.bookings}` };
  const { username } = await addMember();
  const byPassword = await requestTokens({ ...native, grant_type: 'password', username, password });
  const social = { ...native, grant_type: 'social_access_token', provider: 'google' };
  const token = () => fixture.social.nativeToken('google', '100001');
  const { access_token: first } = await requestTokens({ ...social, token: token() });
  const { rows } = await server.db.raw('select username from account where id = ?', [
    String(decodeJwt(String(first)).sub),
  ]);
  await addMemberships(rows[0].username);
  for (const tokens of [byPassword, await requestTokens({ ...social, token: token() })]) {
    expect(facilitiesOf(tokens)).toEqual(['fac-open']);
    expect(facilitiesOf(await refresh(tokens, { client_id: 'demo-native' }))).toEqual(['fac-open']);
  }
});

describe('tokens without a scope of the Bookings API', () => {
  test('roles at userinfo follow the same rule', async () => {
    const request = { scope: 'openid roles' };
    const { browser: oneFactor } = await addMember();
    const { browser: twoFactors } = await addMemberWithFactor();
    expect(await rolesAtUserinfo(await byCode(oneFactor, request))).toEqual(['range-staff']);
    expect(await rolesAtUserinfo(await byCode(twoFactors, request))).toEqual(['range-owner', 'range-staff']);
  });
});

test('requesting the facility by name is an error, and the code stays usable', async () => {
  const { browser } = await addMember();
  const { code } = await authorize(browser, { ...webRequest, scope });
  expect(await exchange(code, { facility: 'fac-strict' })).toMatchObject({ status: 400, error: 'invalid_request' });
  expect(facilitiesOf(await exchange(code, { facility: 'fac-open' }))).toEqual(['fac-open']);
});

test('a personal access token is not affected', async () => {
  const form = { client_id: 'pat-strict', client_secret: 's', grant_type: 'client_credentials' };
  expect(facilitiesOf(await requestTokens({ ...form, scope: scopes.bookings }))).toEqual(['fac-strict']);
});

test('a sign-in with a second factor brings the facility back', async () => {
  const { browser, username } = await addMember();
  expect(facilitiesOf(await byCode(browser))).toEqual(['fac-open']);
  await setUpApp(server, browser);
  expect(facilitiesOf(await byCode(browser))).toEqual(['fac-open', 'fac-strict']);
  const other = openFormBrowser([server.origin]);
  const asked = await other.send(await other.open(`${server.origin}/account`), { username, password });
  expect(asked.url.pathname).toBe('/sign-in/second-factor');
});
