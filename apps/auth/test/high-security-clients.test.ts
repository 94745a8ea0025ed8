// Tests clients with keys: private_key_jwt, pushed authorization requests, DPoP and the profile fapi2
// (docs/behaviour-auth.md, "High-security clients").
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { audience, basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { openBrowser, owner, pkce, redirectParameters, signInAndConsent } from './flows.ts';
import { createKeyClient, type KeyClient } from './key-client.ts';

// One test serves the keys of a client on this machine. By default, the server sends no requests to private networks.
const server = useFixture(() => startAuthServer({ OUTBOUND_ALLOW_NETWORKS: '127.0.0.0/8' }));
let client: KeyClient;
const redirectUri = 'http://localhost:4010/fapi';
const everyScope = scopes.all.join(' ');

const fapiClient = (id: string, keys: readonly object[]) => ({
  client_id: id,
  profile: 'fapi2' as const,
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  response_types: ['code'],
  redirect_uris: [redirectUri],
  jwks: { keys },
  scope: everyScope,
});

beforeAll(async () => {
  client = await createKeyClient('fapi', server.origin);
  await server.load({ clients: [fapiClient('fapi', [client.publicJwk])] });
});

const now = () => Math.floor(Date.now() / 1000);
const tokenUrl = () => `${server.origin}/connect/token`;

const requestParameters = {
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: everyScope,
  state: 'the-state',
  ...pkce.challenge,
};

const push = async (parameters: Record<string, string> = requestParameters, from = client) =>
  statusAndBody(await server.post('/connect/par', { ...parameters, ...(await from.authenticate()) }));

const openRequest = (requestUri: unknown, browser = openBrowser(server), clientId = client.clientId) =>
  browser.open(
    `${server.origin}/connect/authorize?${new URLSearchParams({ client_id: clientId, request_uri: String(requestUri) })}`,
  );

/** Runs the authorization code flow up to the code. */
async function obtainCode(): Promise<string> {
  const browser = openBrowser(server);
  const { request_uri } = await push();
  const response = redirectParameters(await signInAndConsent(browser, await openRequest(request_uri, browser), owner));
  expect(response).toMatchObject({ state: 'the-state', iss: server.origin, scope: everyScope });
  return String(response.code);
}

/** Sends a token request with a client assertion and, if given, a DPoP proof. */
const requestToken = async (form: Record<string, string>, proof?: string, from = client) =>
  server.post(
    '/connect/token',
    { ...form, ...(await from.authenticate()) },
    proof === undefined ? {} : { DPoP: proof },
  );

const exchangeCode = async (code: string, key = client) =>
  requestToken(
    { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier },
    await key.proof(tokenUrl()),
  );

async function obtainTokens() {
  const response = await statusAndBody(await exchangeCode(await obtainCode()));
  expect(response).toMatchObject({ status: 200, token_type: 'DPoP', scope: everyScope });
  return response as { access_token: string; refresh_token: string; id_token: string };
}

test('the discovery document lists pushed requests, the algorithms of proofs and private_key_jwt', async () => {
  const response = await fetch(`${server.origin}/.well-known/openid-configuration`);
  const algorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'];
  expect(await response.json()).toMatchObject({
    pushed_authorization_request_endpoint: `${server.origin}/connect/par`,
    dpop_signing_alg_values_supported: algorithms,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    token_endpoint_auth_methods_supported: expect.arrayContaining(['private_key_jwt']),
  });
});

describe('the profile fapi2', () => {
  test('a code gives a DPoP-bound access token, a refresh token and an id_token with ES256', async () => {
    const tokens = await obtainTokens();
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      cnf: { jkt: client.thumbprint },
      facilities: ['fac-north'],
      aud: audience,
    });
    expect(decodeProtectedHeader(tokens.id_token).alg).toBe('ES256');
  });

  test('a refresh request rotates the refresh token, and a confidential client may use a new key', async () => {
    const { refresh_token } = await obtainTokens();
    const otherKey = await createKeyClient('fapi', server.origin);
    const form = { grant_type: 'refresh_token', refresh_token };
    const refreshed = await statusAndBody(await requestToken(form, await otherKey.proof(tokenUrl())));
    expect(refreshed).toMatchObject({ status: 200, token_type: 'DPoP' });
    expect(refreshed.refresh_token).not.toBe(refresh_token);
    expect(decodeJwt(String(refreshed.access_token)).cnf).toEqual({ jkt: otherKey.thumbprint });
  });

  test('client_credentials gives a bound token with a proof, and invalid_grant without a proof', async () => {
    const form = { grant_type: 'client_credentials', scope: scopes.play };
    const bound = await statusAndBody(await requestToken(form, await client.proof(tokenUrl())));
    expect(bound).toMatchObject({ status: 200, token_type: 'DPoP' });
    expect(decodeJwt(String(bound.access_token)).cnf).toEqual({ jkt: client.thumbprint });
    expect(await statusAndBody(await requestToken(form))).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  test('an authorization request that was not pushed is rejected', async () => {
    const query = new URLSearchParams({ ...requestParameters, client_id: 'fapi' });
    const page = await fetch(`${server.origin}/connect/authorize?${query}`, { redirect: 'manual' });
    expect(page.headers.get('location')).toContain('error=invalid_request');
  });

  test('a pushed request without PKCE is rejected', async () => {
    const { code_challenge: _, code_challenge_method: __, ...withoutPkce } = requestParameters;
    expect(await push(withoutPkce)).toMatchObject({ status: 400, error: 'invalid_request' });
  });
});

describe('private_key_jwt', () => {
  const form = { grant_type: 'client_credentials', scope: scopes.play };
  /** Sends a token request whose client assertion contains these claims. */
  const authenticateWith = async (claims: Record<string, unknown>) =>
    statusAndBody(
      await server.post(
        '/connect/token',
        { ...form, ...(await client.authenticate(claims)) },
        { DPoP: await client.proof(tokenUrl()) },
      ),
    );

  test.each([
    ['is the address of the endpoint', () => tokenUrl()],
    ['is a list with the issuer', () => [server.origin]],
    ['is another server', () => 'https://other.example'],
  ])('an assertion whose audience %s is rejected', async (_title, aud) => {
    expect(await authenticateWith({ aud: aud() })).toMatchObject({ status: 401, error: 'invalid_client' });
  });

  test.each(['/connect/par', '/connect/introspect', '/connect/revocation'])(
    'at %s, the audience of an assertion must be the issuer',
    async (path) => {
      const request = { ...requestParameters, token: 'unknown' };
      const send = async (aud: unknown) =>
        (await server.post(path, { ...request, ...(await client.authenticate({ aud })) })).status;
      expect(await send(server.origin + path)).toBe(401);
      expect(await send([server.origin])).toBe(401);
      expect(await send(server.origin)).toBeLessThan(300);
    },
  );

  test('an endpoint that accepts no proofs ignores an invalid DPoP header', async () => {
    const dpop = `${btoa('{"alg":"none"}')}.${btoa('{"iat":"tomorrow"}')}.`;
    const introspection = { token: 'unknown', ...(await client.authenticate()) };
    expect((await server.post('/connect/introspect', introspection, { DPoP: dpop })).status).toBe(200);
  });

  test.each<[string, () => Record<string, unknown>]>([
    ['has no exp', () => ({ exp: undefined })],
    ['has expired', () => ({ exp: now() - 60 })],
    ['expires in more than a day', () => ({ exp: now() + 25 * 3600 })],
    ['has no jti', () => ({ jti: undefined })],
    ['names another client', () => ({ iss: 'other' })],
    ['has an iat more than 60 s in the future', () => ({ iat: now() + 70 })],
    ['has an nbf more than 60 s in the future', () => ({ nbf: now() + 70 })],
  ])('an assertion that %s is rejected', async (_title, claims) => {
    expect(await authenticateWith(claims())).toMatchObject({ status: 401, error: 'invalid_client' });
  });

  test('an assertion that is not a JWT, or has no type, is rejected', async () => {
    const authentication = await client.authenticate();
    const { client_assertion_type: _, ...withoutType } = authentication;
    const notAJwt = { ...authentication, client_assertion: 'garbage' };
    for (const credentials of [withoutType, notAJwt]) {
      const response = await server.post('/connect/token', { ...form, ...credentials });
      expect(await statusAndBody(response)).toMatchObject({ status: 401, error: 'invalid_client' });
    }
  });

  test('an assertion that was used at one endpoint is rejected at another', async () => {
    const authentication = await client.authenticate();
    expect((await server.post('/connect/par', { ...requestParameters, ...authentication })).status).toBe(201);
    expect((await server.post('/connect/introspect', { token: 'unknown', ...authentication })).status).toBe(401);
  });

  test('an assertion is accepted once, even if many copies arrive at the same time at two instances', async () => {
    const otherInstance = await server.startInstance();
    const body = new URLSearchParams({ ...form, ...(await client.authenticate()) });
    const send = async (_: unknown, index: number) => {
      const origin = index % 2 === 0 ? server.origin : otherInstance.origin;
      const headers = { DPoP: await client.proof(tokenUrl()) };
      return (await fetch(`${origin}/connect/token`, { method: 'POST', body, headers })).status;
    };
    const statuses = await Promise.all(Array.from({ length: 12 }, send));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(11);
  });

  test.each(['PS256', 'EdDSA', 'Ed25519'])('assertions and proofs with %s are accepted', async (alg) => {
    const keyClient = await createKeyClient(`fapi-${alg}`, server.origin, alg);
    await server.load({ clients: [fapiClient(keyClient.clientId, [keyClient.publicJwk])] });
    expect(await statusAndBody(await requestToken(form, await keyClient.proof(tokenUrl()), keyClient))).toMatchObject({
      status: 200,
      token_type: 'DPoP',
    });
  });

  test('the keys of a client are fetched from its jwks_uri only if its network is allowed', async () => {
    const keyServer = createServer((_request, response) => {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ keys: [client.publicJwk] }));
    });
    await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
    const { jwks: _, ...metadata } = fapiClient('remote', []);
    const jwks_uri = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/jwks`;
    await server.load({ clients: [{ ...metadata, jwks_uri }] });
    const statusAt = async (origin: string) => {
      const assertion = await client.authenticate({ iss: 'remote', sub: 'remote' });
      const body = new URLSearchParams({ ...form, ...assertion, client_id: 'remote' });
      const headers = { DPoP: await client.proof(tokenUrl()) };
      return (await fetch(`${origin}/connect/token`, { method: 'POST', body, headers })).status;
    };
    expect(await statusAt(server.origin)).toBe(200);
    const strict = await server.startInstance({ OUTBOUND_ALLOW_NETWORKS: '' });
    expect(await statusAt(strict.origin)).toBe(401);
    keyServer.close();
  });
});

describe('pushed authorization requests', () => {
  test('a pushed request gets 201 with a request_uri that is valid for 60 s', async () => {
    expect(await push()).toEqual({
      status: 201,
      expires_in: 60,
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:/),
    });
  });

  test('a request_uri gives one code, even if two browsers have opened it', async () => {
    const { request_uri } = await push();
    const [first, second] = [openBrowser(server), openBrowser(server)];
    const firstPage = await openRequest(request_uri, first);
    const secondPage = await openRequest(request_uri, second);
    const firstResponse = redirectParameters(await signInAndConsent(first, firstPage, owner));
    expect(firstResponse.code).toBeDefined();
    const secondResponse = redirectParameters(await signInAndConsent(second, secondPage, owner));
    expect(secondResponse).toMatchObject({ error: 'invalid_request_uri' });
    expect(secondResponse.code).toBeUndefined();
  });

  test('a request_uri gives one code, even if a signed-in browser opens it many times at the same time', async () => {
    const browser = openBrowser(server);
    const first = await push();
    await signInAndConsent(browser, await openRequest(first.request_uri, browser), owner);
    const { request_uri } = await push();
    const pages = await Promise.all(Array.from({ length: 6 }, () => openRequest(request_uri, browser)));
    expect(pages.filter(({ url }) => url.searchParams.has('code'))).toHaveLength(1);
  });

  test('a request_uri that was used is rejected', async () => {
    const browser = openBrowser(server);
    const { request_uri } = await push();
    await signInAndConsent(browser, await openRequest(request_uri, browser), owner);
    expect(await openRequest(request_uri, browser)).toMatchObject({ status: 400 });
    expect(await openRequest(request_uri)).toMatchObject({ status: 400 });
  });

  test('another client cannot use a request_uri', async () => {
    const { request_uri } = await push();
    const page = await openRequest(request_uri, openBrowser(server), 'demo-web');
    expect(page.url.pathname).toBe('/connect/authorize');
    expect(page.status).toBe(400);
  });

  test('rejected requests are in the metrics', async () => {
    await push({ ...requestParameters, redirect_uri: 'https://other.example/callback' });
    const metrics = await (await fetch(`${server.origin}/metrics`)).text();
    expect(metrics).toMatch(/^http_problems_total\{.*route="\/connect\/par",code="invalid_request".*\} [1-9]/m);
  });

  test('the endpoint for pushed requests accepts POST only', async () => {
    const response = await fetch(`${server.origin}/connect/par`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  test('a request_uri that was not opened within 60 s is rejected', async () => {
    const { request_uri } = await push();
    await server.db.raw(
      `update oidc_artifact set expires_at = expires_at - interval '61 s' where model = 'PushedAuthorizationRequest'`,
    );
    const page = await openRequest(request_uri);
    expect(page.status).toBe(400);
  });

  test('every client may push requests, and the same scope rules apply as at the authorization endpoint', async () => {
    const parameters = {
      client_id: 'demo-web',
      response_type: 'code',
      redirect_uri: 'http://localhost:4010/callback',
      scope: `offline_access ${scopes.play}`,
      nonce: 'unused',
    };
    const authorization = basic('demo-web', 'demo-web-secret');
    const pushed = await statusAndBody(await server.post('/connect/par', parameters, authorization));
    expect(pushed).toMatchObject({ status: 201 });
    const browser = openBrowser(server);
    const page = await openRequest(pushed.request_uri, browser, 'demo-web');
    expect(redirectParameters(await signInAndConsent(browser, page, owner))).toMatchObject({ scope: parameters.scope });
    const refused = await server.post('/connect/par', { ...parameters, scope: 'unknown' }, authorization);
    expect(await statusAndBody(refused)).toMatchObject({ status: 400, error: 'invalid_scope' });
  });

  test('response_type=token and acr_values=idp:NAME work in a pushed request', async () => {
    const parameters = { response_type: 'token', redirect_uri: 'http://localhost:4010/spa', scope: scopes.play };
    const pushed = await statusAndBody(await server.post('/connect/par', { ...parameters, client_id: 'demo-spa' }));
    const browser = openBrowser(server);
    const page = await signInAndConsent(browser, await openRequest(pushed.request_uri, browser, 'demo-spa'), owner);
    expect(redirectParameters(page)).toMatchObject({ access_token: expect.any(String), scope: scopes.play });
    const idp = { ...parameters, client_id: 'demo-spa', acr_values: 'idp:unknown' };
    expect(await statusAndBody(await server.post('/connect/par', idp))).toMatchObject({ error: 'invalid_request' });
  });
});

test('response_modes limits the response modes of a client', async () => {
  await server.load({ clients: [{ ...fapiClient('query-only', [client.publicJwk]), response_modes: ['query'] }] });
  const assertionClaims = { iss: 'query-only', sub: 'query-only' };
  const pushMode = async (response_mode: string) =>
    statusAndBody(
      await server.post('/connect/par', {
        ...requestParameters,
        response_mode,
        ...(await client.authenticate(assertionClaims)),
        client_id: 'query-only',
      }),
    );
  expect(await pushMode('query')).toMatchObject({ status: 201 });
  expect(await pushMode('form_post')).toMatchObject({ status: 400, error: 'invalid_request' });
});
