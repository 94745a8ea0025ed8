// Tests the authorization code flow and refresh requests (specification, "Authorization code flow", "Scopes" and
// "Refresh").
import { useFixture } from '@bay-booking/testkit/fixture';
import { clients, rounds } from '@bay-booking/testkit/rounds';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { audience, basic, passSecondAfterUse, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import {
  authorize,
  authorizeUrl,
  openBrowser,
  owner,
  pkce,
  player,
  redirectParameters,
  signInAndConsent,
  webCallback,
  webClient,
} from './flows.ts';

const server = useFixture(() => startAuthServer());

const web = basic('demo-web', 'demo-web-secret');
const requestState = 'af0ifjsldkj';
const request = (more: Record<string, string> = {}) => ({
  response_type: 'code',
  client_id: 'demo-web',
  redirect_uri: webCallback,
  scope: scopes.play,
  state: requestState,
  ...more,
});
/** Sends an authorization request of demo-web, signs in as `player` (acc-player) and consents. Returns the code. */
const obtainCode = async (more: Record<string, string> = {}): Promise<string> => {
  const { code } = await authorize(server, request(more));
  expect(code).toBeDefined();
  return String(code);
};
const redeem = async (form: Record<string, string>, headers: Record<string, string> = web) =>
  server.token({ grant_type: 'authorization_code', redirect_uri: webCallback, ...form }, headers);
const refresh = async (token: unknown, headers = web, more: Record<string, string> = {}) =>
  server.token({ grant_type: 'refresh_token', refresh_token: String(token), ...more }, headers);
const userinfo = async (token: unknown) => server.userinfo(token);

describe('the redirect', () => {
  test.each<[string, Record<string, string>, string]>([
    ['an unknown scope', { scope: `${scopes.play} phone` }, 'invalid_scope'],
    ['email and roles without openid', { scope: `email roles ${scopes.play}` }, 'invalid_scope'],
    ['an unknown response type', { response_type: 'magic' }, 'unsupported_response_type'],
    ['a response type that the client is not registered for', { response_type: 'token' }, 'unauthorized_client'],
    ['an unknown social provider', { acr_values: 'idp:nobody' }, 'invalid_request'],
    ['an unknown resource', { resource: 'https://other.example' }, 'invalid_target'],
    ['an unknown prompt', { prompt: 'dance' }, 'invalid_request'],
    ['prompt=none while nobody is signed in', { prompt: 'none' }, 'login_required'],
    ['the PKCE method plain', { code_challenge: pkce.verifier, code_challenge_method: 'plain' }, 'invalid_request'],
    ['no PKCE method, which means plain', { code_challenge: pkce.challenge.code_challenge }, 'invalid_request'],
    ['a PKCE method without a challenge', { code_challenge_method: 'S256' }, 'invalid_request'],
    ['an invalid challenge', { ...pkce.challenge, code_challenge: 'short' }, 'invalid_request'],
  ])('the redirect contains the error of a request with %s, and no code', async (_title, more, error) => {
    const page = await openBrowser(server).open(authorizeUrl(server, request(more)));
    expect(page.url.href.startsWith(webCallback)).toBe(true);
    expect(redirectParameters(page)).toMatchObject({ error, state: requestState, iss: server.origin });
    expect(redirectParameters(page)).not.toHaveProperty('code');
  });

  test('a request path in another case or with a trailing slash reaches the authorization endpoint', async () => {
    for (const path of ['/connect/authorize/', '/Connect/Authorize']) {
      // The endpoint rejects an unknown provider before a page is shown, so the test needs no sign-in.
      const parameters = new URLSearchParams(request({ acr_values: 'idp:nobody' }));
      const page = await openBrowser(server).open(`${server.origin}${path}?${parameters}`);
      expect(redirectParameters(page)).toMatchObject({
        error: 'invalid_request',
        error_description: expect.stringContaining('identity provider'),
      });
    }
  });
});

describe('the exchange', () => {
  // The other tests send the credentials with the Basic scheme.
  test('a code with client credentials in the body gives the token response', async () => {
    const form = { grant_type: 'authorization_code', code: await obtainCode(), redirect_uri: webCallback };
    const response = await server.post('/connect/token', { ...form, ...webClient });
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await statusAndBody(response)).toEqual({
      status: 200,
      access_token: expect.any(String),
      expires_in: 3600,
      token_type: 'Bearer',
      scope: scopes.play,
    });
  });

  test('a resource that was not granted is invalid_target, and uses up neither code nor refresh token', async () => {
    const code = await obtainCode({ scope: 'openid offline_access' });
    const invalid = { status: 400, error: 'invalid_target' };
    expect(await redeem({ code, resource: audience })).toMatchObject(invalid);
    const tokens = await redeem({ code });
    expect(await refresh(tokens.refresh_token, web, { resource: audience })).toMatchObject(invalid);
    expect(await refresh(tokens.refresh_token)).toMatchObject({ status: 200 });
  });

  test('a granted offline_access gives a refresh_token, even without prompt=consent and without openid', async () => {
    const { code, scope } = await authorize(server, request({ scope: `offline_access ${scopes.play}` }));
    expect(scope).toBe(`offline_access ${scopes.play}`);
    const tokens = await redeem({ code: String(code) });
    expect(tokens).toMatchObject({ refresh_token: expect.any(String), scope: `offline_access ${scopes.play}` });
    expect(tokens).not.toHaveProperty('id_token');
    const claims = decodeJwt(String(tokens.access_token));
    expect(claims).toMatchObject({ iss: server.origin, aud: audience, sub: 'acc-player', client_id: 'demo-web' });
    expect(claims.scope).toBe(scopes.play);
    expect(claims.auth_time).toEqual(expect.any(Number));
    const refreshed = await refresh(tokens.refresh_token);
    expect(refreshed).toMatchObject({ status: 200, refresh_token: expect.any(String) });
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);
  });

  test('the scopes of a code request and of a refresh may have extra spaces around them', async () => {
    // A remembered consent has no order of scopes, so this request asks for a new one.
    const withSpaces = ` openid   offline_access  ${scopes.play}  `;
    const tokens = await redeem({ code: await obtainCode({ scope: withSpaces, prompt: 'consent' }) });
    expect(tokens).toMatchObject({ status: 200, scope: `openid offline_access ${scopes.play}` });
    const narrow = await refresh(tokens.refresh_token, web, { scope: `  ${scopes.play}   openid ` });
    expect(narrow).toMatchObject({ status: 200, scope: `${scopes.play} openid` });
  });

  test.each<[string, () => Promise<Record<string, string>>]>([
    ['an unknown code', async () => ({ code: 'made-up' })],
    ['a missing PKCE verifier', async () => ({ code: await obtainCode(pkce.challenge) })],
    ['a wrong PKCE verifier', async () => ({ code: await obtainCode(pkce.challenge), code_verifier: 'x'.repeat(43) })],
    [
      'a PKCE verifier without a challenge in the request',
      async () => ({ code: await obtainCode(), code_verifier: pkce.verifier }),
    ],
  ])('an exchange with %s is invalid_grant', async (_title, form) => {
    expect(await redeem(await form())).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  test.each([-60, 60])(
    'a code can be exchanged at an instance whose clock differs by %s s from the issuing instance',
    async (seconds) => {
      const code = await obtainCode();
      // The issuing instance takes `exp` and `iat` from its own clock.
      const { rowCount } = await server.db.raw(
        `update oidc_artifact set payload = payload || jsonb_build_object(
              'exp', (payload ->> 'exp')::int + :seconds::int, 'iat', (payload ->> 'iat')::int + :seconds::int)
        where model = 'AuthorizationCode' and consumed_at is null`,
        { seconds },
      );
      expect(rowCount).toBeGreaterThan(0);
      expect(await redeem({ code })).toMatchObject({ status: 200 });
    },
  );

  test('a code that is older than 60 s gives invalid_grant', async () => {
    const oldCode = await obtainCode();
    // The last condition selects only codes with a lifetime of at most 60 s, so a longer lifetime fails the test.
    const { rows } = await server.db.raw(
      `update oidc_artifact set expires_at = expires_at - interval '60 s',
              payload = payload || jsonb_build_object('exp', (payload ->> 'exp')::int - 60)
        where model = 'AuthorizationCode' and consumed_at is null and expires_at - created_at <= interval '60 s'
        returning expires_at > now() as live`,
    );
    expect(rows).toContainEqual({ live: false });
    expect(await redeem({ code: oldCode })).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  test('a replayed code revokes every token of its grant', async () => {
    const used = await obtainCode({ scope: `openid offline_access ${scopes.play}` });
    const tokens = await redeem({ code: used });
    expect((await userinfo(tokens.access_token)).status).toBe(200);
    await passSecondAfterUse(server.db);
    expect(await redeem({ code: used })).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refresh(tokens.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect((await userinfo(tokens.access_token)).status).toBe(401);
  });

  test('of parallel requests with one code exactly one succeeds, in every round', async () => {
    const browser = openBrowser(server);
    for (let round = 0; round < rounds(20); round += 1) {
      const scope = `openid offline_access ${scopes.play}`;
      const { code } = await authorize(server, request({ scope }), { browser });
      const responses = await Promise.all(Array.from({ length: clients(32) }, () => redeem({ code: String(code) })));
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(responses.filter(({ error }) => error === 'invalid_grant')).toHaveLength(clients(32) - 1);
      // The concurrent uses have not revoked the grant.
      const winner = responses.find(({ status }) => status === 200);
      expect((await userinfo(winner?.access_token)).status).toBe(200);
      expect(await refresh(winner?.refresh_token)).toMatchObject({ status: 200 });
    }
  });
});

describe('refresh', () => {
  test('a refresh can request only openid, for userinfo, or only a custom scope, but not email without openid', async () => {
    const tokens = await redeem({ code: await obtainCode({ scope: `openid email offline_access ${scopes.play}` }) });
    const withoutOpenid = await refresh(tokens.refresh_token, web, { scope: `email ${scopes.play}` });
    expect(withoutOpenid).toMatchObject({ status: 400, error: 'invalid_scope', scope: 'email' });
    const narrow = await refresh(tokens.refresh_token, web, { scope: scopes.play });
    expect(decodeJwt(String(narrow.access_token)).scope).toBe(scopes.play);
    expect((await userinfo(narrow.access_token)).status).toBe(403);
    expect(narrow).not.toHaveProperty('id_token');
    const identity = await refresh(narrow.refresh_token, web, { scope: 'openid email' });
    expect(identity.scope).toBe('openid email');
    const claims = { sub: 'acc-player', email: 'player@example.com', email_verified: true };
    expect(await (await userinfo(identity.access_token)).json()).toEqual(claims);
  });

  test('a refresh gives no scope that the client has lost, and fails after the loss of offline_access', async () => {
    const client = {
      client_id: 'shrinking',
      client_secret: 'shrinking-secret',
      redirect_uris: ['https://shrinking.example/cb'],
      grant_types: ['authorization_code', 'refresh_token'],
    };
    const all = `openid profile email offline_access ${scopes.play} ${scopes.bookings}`;
    const remaining = `openid profile offline_access ${scopes.play}`;
    const headers = basic('shrinking', 'shrinking-secret');
    const own = { client_id: 'shrinking', redirect_uri: 'https://shrinking.example/cb' };
    await server.load({ clients: [{ ...client, scope: all }] });
    const { code: firstCode } = await authorize(server, request({ ...own, scope: all }), { user: owner });
    const { code: secondCode } = await authorize(server, request({ ...own, scope: all }), { user: owner });
    const before = await redeem({ ...own, code: String(firstCode) }, headers);
    expect(before.scope).toBe(all);

    await server.load({ clients: [{ ...client, scope: remaining }] });
    expect((await redeem({ ...own, code: String(secondCode) }, headers)).scope).toBe(remaining);
    const refused = await refresh(before.refresh_token, headers, { scope: `openid email ${scopes.play}` });
    expect(refused).toMatchObject({ status: 400, error: 'invalid_scope' });
    const after = await refresh(before.refresh_token, headers);
    expect(after.scope).toBe(remaining);
    expect(decodeJwt(String(after.access_token))).not.toHaveProperty('facilities');
    expect(decodeJwt(String(after.id_token))).not.toHaveProperty('email');
    expect(await (await userinfo(after.access_token)).json()).not.toHaveProperty('email');

    await server.load({ clients: [{ ...client, scope: `openid ${scopes.play}` }] });
    expect(await refresh(after.refresh_token, headers)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });
});

describe('public clients', () => {
  test('a public client may omit PKCE if it is registered with pkce: "optional", and refreshes without a secret', async () => {
    const redirectUris = [
      'http://localhost:4010/native',
      'com.example.demo:/callback',
      'http://127.0.0.1:51004/callback',
    ];
    for (const redirect_uri of redirectUris) {
      const native = { client_id: 'demo-native', redirect_uri };
      const code = await obtainCode({ ...native, scope: `offline_access ${scopes.play}` });
      const tokens = await redeem({ ...native, code }, {});
      expect(tokens).toMatchObject({ status: 200, refresh_token: expect.any(String) });
      const client = { client_id: 'demo-native' };
      const withSecret = await refresh(tokens.refresh_token, {}, { ...client, client_secret: 'any' });
      expect(withSecret).toMatchObject({ status: 401, error: 'invalid_client' });
      const refreshed = await refresh(tokens.refresh_token, {}, client);
      expect(refreshed).toMatchObject({ status: 200, refresh_token: expect.any(String) });
    }
  });
});

describe('OpenID Connect', () => {
  test.each(['login', 'select_account'])('prompt=%s asks a user who is signed in to sign in', async (prompt) => {
    const browser = openBrowser(server);
    await authorize(server, request({ scope: 'openid' }), { browser });
    const page = await browser.open(authorizeUrl(server, request({ scope: 'openid', prompt })));
    expect(page.title).toMatch(/^Sign in/);
  });

  test('a sign-in of another user than the user in id_token_hint gives login_required', async () => {
    const tokens = await redeem({ code: await obtainCode({ scope: 'openid' }) });
    const hinted = request({ scope: 'openid', prompt: 'login', id_token_hint: String(tokens.id_token) });
    expect(await authorize(server, hinted, { user: owner })).toMatchObject({ error: 'login_required' });
    expect(await authorize(server, hinted)).toMatchObject({ code: expect.any(String) });
  });
});

describe('a client that is limited to some response modes (OWASP ASVS 5.0, 10.4.12)', () => {
  const appCallback = 'https://app.example/callback';
  const limitedClient = (id: string, response_modes: readonly string[]) => ({
    client_id: id,
    redirect_uris: [appCallback],
    response_types: ['code', 'id_token'],
    grant_types: ['authorization_code', 'implicit'],
    // The requests of this test have no code_challenge.
    pkce: 'optional' as const,
    scope: 'openid',
    response_modes,
  });

  beforeAll(() =>
    server.load({ clients: [limitedClient('only-query', ['query']), limitedClient('only-form-post', ['form_post'])] }),
  );

  const requestInMode = async (client_id: string, more: Record<string, string>) => {
    const browser = openBrowser(server);
    const request = { response_type: 'code', client_id, redirect_uri: appCallback, scope: 'openid', nonce: 'n' };
    const params = { ...request, ...more };
    return signInAndConsent(browser, await browser.open(authorizeUrl(server, params)), player);
  };

  test('a client may use its response modes, including the default of its response type', async () => {
    expect(redirectParameters(await requestInMode('only-query', {})).code).toBeDefined();
    const page = await requestInMode('only-form-post', { response_mode: 'form_post' });
    expect(page.forms[0]).toMatchObject({ action: appCallback, method: 'post' });
  });

  test.each([
    ['only-query', { response_mode: 'form_post' }],
    ['only-query', { response_mode: 'fragment' }],
    ['only-query', { response_type: 'id_token' }],
    ['only-form-post', {}],
    ['only-form-post', { response_mode: 'query' }],
  ])('the client %s may not send a request with %j', async (clientId, params) => {
    const page = await requestInMode(clientId, params);
    const { error, code, id_token } = redirectParameters(page);
    expect({ code, id_token }).toEqual({ code: undefined, id_token: undefined });
    // The status 0 means that the browser was redirected to the client.
    if (page.status === 0) expect(error).toMatch(/^(unauthorized_client|unsupported_response_mode|invalid_request)$/);
    else expect(page.status).toBe(400);
  });
});
