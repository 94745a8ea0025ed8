// Implements the modules of the OpenID conformance plan "FAPI 2.0 Security Profile Final" that test discovery, pushed
// requests and the authorization endpoint. The OpenID conformance suite defines the names of the modules, and describes
// what they check.
import { expect } from '@jest/globals';
import { redirectParameters } from '../flows.ts';
import { type Fapi2Client, random, redirectUri } from './fapi2-client.ts';

type Module = (client: Fapi2Client) => Promise<void>;

const now = () => Math.floor(Date.now() / 1000);
const invalidClient = { status: 401, error: 'invalid_client' };

/** Checks that a request with these parameters gives a code, and that the code gives tokens. */
const succeeds =
  (params: Record<string, string | undefined>): Module =>
  async (client) => {
    const response = await client.authorize(params);
    expect(response).toMatchObject({ state: expect.any(String), ...('state' in params && { state: params.state }) });
    const { idToken } = await client.expectTokens(await client.redeem(response.code));
    if (client.isOpenid && 'nonce' in params) expect(idToken?.nonce).toBe(params.nonce);
  };

/** Checks that a pushed request with these parameters is rejected with this error. */
const isRejectedWhenPushed =
  (params: Record<string, string | undefined>, error: string): Module =>
  async (client) => {
    expect(await client.push(params)).toMatchObject({ status: 400, error });
  };

/** Checks that a client assertion with this claim `aud` is rejected. */
const rejectsAudience =
  (aud: (client: Fapi2Client) => unknown): Module =>
  async (client) => {
    expect(await client.push({}, { assertion: { aud: aud(client) } })).toMatchObject(invalidClient);
  };

/** Checks that a parameter that is sent with the `request_uri` does not replace the pushed parameter. */
const ignoresOutside =
  (name: 'state' | 'nonce'): Module =>
  async (client) => {
    const params = { [name]: random() };
    const response = await client.authorize(params, { outside: { [name]: random() } });
    if (name === 'state') expect(response.state).toBe(params.state);
    await client.expectTokens(await client.redeem(response.code), params);
  };

export const authorizationModules = {
  'discovery-end-point-verification': async ({ server }) => {
    const response = await fetch(`${server.origin}/.well-known/openid-configuration`);
    const metadata = (await response.json()) as Record<string, unknown>;
    // discovery.test.ts compares the values of all metadata.
    expect(metadata.issuer).toBe(server.origin);
    expect(metadata).not.toHaveProperty('registration_endpoint');
    const oauth = await fetch(`${server.origin}/.well-known/oauth-authorization-server`);
    expect(await oauth.json()).toEqual(metadata);
  },
  'user-rejects-authentication': async (client) => {
    const browser = client.newBrowser();
    const signIn = await client.openPushed(await client.push(), browser);
    const denied = await browser.send(signIn, {}, 'Cancel');
    expect(redirectParameters(denied)).toMatchObject({ error: 'access_denied', iss: client.server.origin });
  },
  'ensure-authorization-request-without-state-success': async (client) => {
    const response = await client.authorize({ state: undefined });
    expect(response).not.toHaveProperty('state');
    const { idToken } = await client.expectTokens(await client.redeem(response.code));
    expect(idToken ?? {}).not.toHaveProperty('s_hash');
  },
  'ensure-authorization-request-without-nonce-success': async (client) => {
    const response = await client.authorize({ nonce: undefined });
    const { idToken } = await client.expectTokens(await client.redeem(response.code));
    expect(idToken ?? {}).not.toHaveProperty('nonce');
  },
  // `random` encodes its bytes in base64url, so 48 bytes become 64 characters, and 288 bytes become 384.
  'ensure-authorization-request-with-64-char-nonce-success': succeeds({ nonce: random(48) }),
  'ensure-authorization-request-with-long-nonce': succeeds({ nonce: random(288) }),
  'ensure-authorization-request-with-long-state': succeeds({ state: random(288) }),
  'ensure-other-scope-order-succeeds': async (client) => {
    const scope = client.requestOf().scope?.split(' ').reverse().join(' ');
    await succeeds({ scope })(client);
  },
  'ensure-different-nonce-inside-and-outside-request-object': ignoresOutside('nonce'),
  'ensure-different-state-inside-and-outside-request-object': ignoresOutside('state'),
  'state-only-outside-request-object-not-used': async (client) => {
    expect(await client.authorize({ state: undefined }, { outside: { state: random() } })).not.toHaveProperty('state');
  },
  'ensure-request-object-without-redirect-uri-fails': isRejectedWhenPushed(
    { redirect_uri: undefined },
    'invalid_request',
  ),
  'ensure-redirect-uri-in-authorization-request': isRejectedWhenPushed({ redirect_uri: undefined }, 'invalid_request'),
  // A server may tolerate an unregistered redirect URI, but need not. Our server rejects the request.
  'plain-fapi-tolerate-unregistered-redirect-uri': isRejectedWhenPushed(
    { redirect_uri: `${redirectUri}/${random()}` },
    'invalid_request',
  ),
  'ensure-response-type-code-idtoken-fails': isRejectedWhenPushed(
    { response_type: 'code id_token' },
    'unsupported_response_type',
  ),
  'ensure-response-type-token-fails': isRejectedWhenPushed({ response_type: 'token' }, 'unauthorized_client'),
  'ensure-unsigned-authorization-request-without-using-par-fails': async (client) => {
    const page = await client.open({ ...client.requestOf(), client_id: client.own.clientId });
    expect(redirectParameters(page)).toMatchObject({ error: 'invalid_request' });
  },
  'test-claims-parameter-identity-claims': async (client) => {
    const claims = JSON.stringify({ id_token: { email: { essential: true } } });
    const response = await client.authorize({ claims });
    const { idToken } = await client.expectTokens(await client.redeem(response.code));
    expect(idToken).not.toHaveProperty('email');
  },

  'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds': async (client) => {
    const pushed = await client.push();
    expect(await client.openPushed(pushed)).toMatchObject({ status: 200 });
    const browser = client.newBrowser();
    const response = await client.finish(browser, await client.openPushed(pushed, browser));
    await client.expectTokens(await client.redeem(response.code));
  },
  'par-attempt-reuse-request_uri': async (client) => {
    const browser = client.newBrowser();
    const pushed = await client.push();
    await client.finish(browser, await client.openPushed(pushed, browser));
    expect(await client.openPushed(pushed, browser)).toMatchObject({ status: 400 });
  },
  'par-attempt-to-use-expired-request_uri': async (client) => {
    const pushed = await client.push();
    // A request_uri is valid for 60 s.
    await client.server.db.raw(
      `update oidc_artifact set expires_at = expires_at - interval '61 s' where model = 'PushedAuthorizationRequest'`,
    );
    expect(await client.openPushed(pushed)).toMatchObject({ status: 400 });
  },
  'par-attempt-to-use-request_uri-for-different-client': async (client) => {
    const pushed = await client.push();
    const page = await client.open({ client_id: client.second.clientId, request_uri: String(pushed.request_uri) });
    expect(page).toMatchObject({ status: 400 });
  },
  'par-authorization-request-containing-request_uri-form-param': isRejectedWhenPushed(
    { request_uri: `urn:ietf:params:oauth:request_uri:${random()}` },
    'request_uri_not_supported',
  ),
  'par-attempt-invalid-http-method': async (client) => {
    const query = new URLSearchParams({ ...client.requestOf(), ...(await client.own.authenticate()) });
    expect((await fetch(`${client.server.origin}/connect/par?${query}`)).status).toBe(405);
  },
  'par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted': async (client) => {
    const assertion = { iat: now() + 8, nbf: now() + 8 };
    expect(await client.push({}, { assertion })).toMatchObject({ status: 201 });
  },
  'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails': async (client) => {
    const assertion = { iat: now() + 70, nbf: now() + 70, exp: now() + 130 };
    expect(await client.push({}, { assertion })).toMatchObject(invalidClient);
  },
  'par-ensure-pkce-required': isRejectedWhenPushed(
    { code_challenge: undefined, code_challenge_method: undefined },
    'invalid_request',
  ),
  'par-plain-pkce-rejected': isRejectedWhenPushed(
    { code_challenge: random(32), code_challenge_method: 'plain' },
    'invalid_request',
  ),
  'par-without-duplicate-parameters': succeeds({}),
  'par-test-array-as-audience-fails': rejectsAudience(({ server }) => [server.origin]),
  'par-test-par-endpoint-url-as-audience-fails': rejectsAudience(({ server }) => `${server.origin}/connect/par`),
  'par-test-token-endpoint-url-as-audience-fails': rejectsAudience(({ tokenUrl }) => tokenUrl),

  'ensure-mismatched-dpop-jkt-fails': async (client) => {
    const proof = await client.own.proof(`${client.server.origin}/connect/par`);
    const params = { dpop_jkt: client.second.thumbprint };
    expect(await client.push(params, { proof })).toMatchObject({ status: 400, error: 'invalid_request' });
  },
  'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt': async (client) => {
    const proof = await client.own.proof(`${client.server.origin}/connect/par`);
    const { code } = await client.authorize({}, { proof });
    const response = await client.redeem(code, { key: client.second });
    expect(response).toMatchObject({ status: 400, error: 'invalid_grant' });
  },
  'ensure-token-endpoint-fails-with-mismatched-dpop-jkt': async (client) => {
    const { code } = await client.authorize({ dpop_jkt: client.own.thumbprint });
    const response = await client.redeem(code, { key: client.second });
    expect(response).toMatchObject({ status: 400, error: 'invalid_grant' });
  },
  'ensure-dpopproof-at-par-endpoint-binding-success': async (client) => {
    const proof = await client.own.proof(`${client.server.origin}/connect/par`);
    await client.expectTokens(await client.redeem((await client.authorize({}, { proof })).code));
  },
  'ensure-dpop-auth-code-binding-success': async (client) => {
    const proof = await client.own.proof(`${client.server.origin}/connect/par`);
    const { code } = await client.authorize({ dpop_jkt: client.own.thumbprint }, { proof });
    await client.expectTokens(await client.redeem(code));
  },
} satisfies Record<string, Module>;
