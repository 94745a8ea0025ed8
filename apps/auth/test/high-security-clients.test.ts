// Tests clients with keys: private_key_jwt, pushed authorization requests, DPoP and the profile fapi2
// (docs/behaviour-auth.md, "High-security clients").
import { useFixture } from '@bay-booking/testkit/fixture';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorizeUrl, openBrowser, owner, pkce, redirectParameters, signInAndConsent, webCallback } from './flows.ts';
import { createKeyClient, type KeyClient } from './key-client.ts';

// One test serves the keys of a client on this machine. By default, the server sends no requests to private networks.
const server = useFixture(() => startAuthServer({ OUTBOUND_ALLOW_NETWORKS: '127.0.0.0/8', TRUST_PROXY: 'true' }));
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
  browser.open(authorizeUrl(server, { client_id: clientId, request_uri: String(requestUri) }));

/** Sends a token request with a client assertion and, if given, a DPoP proof. */
const requestToken = async (form: Record<string, string>, proof?: string, from = client) =>
  server.token({ ...form, ...(await from.authenticate()) }, proof === undefined ? {} : { DPoP: proof });

test('client_credentials gives a bound token with a proof, and invalid_grant without a proof', async () => {
  const form = { grant_type: 'client_credentials', scope: scopes.play };
  const bound = await requestToken(form, await client.proof(tokenUrl()));
  expect(bound).toMatchObject({ status: 200, token_type: 'DPoP' });
  expect(decodeJwt(String(bound.access_token)).cnf).toEqual({ jkt: client.thumbprint });
  expect(await requestToken(form)).toMatchObject({ status: 400, error: 'invalid_grant' });
});

describe('private_key_jwt', () => {
  const form = { grant_type: 'client_credentials', scope: scopes.play };
  /** Sends a token request whose client assertion contains these claims. */
  const authenticateWith = async (claims: Record<string, unknown>) =>
    server.token({ ...form, ...(await client.authenticate(claims)) }, { DPoP: await client.proof(tokenUrl()) });

  test.each(['/connect/token', '/connect/par', '/connect/introspect', '/connect/revocation'])(
    'at %s, the audience of an assertion must be the issuer',
    async (path) => {
      const request = { ...(path === '/connect/token' ? form : requestParameters), token: 'unknown' };
      const send = async (aud: unknown) => {
        const headers = { DPoP: await client.proof(server.origin + path) };
        return (await server.post(path, { ...request, ...(await client.authenticate({ aud })) }, headers)).status;
      };
      for (const aud of [server.origin + path, tokenUrl(), [server.origin], 'https://other.example'])
        expect(await send(aud)).toBe(401);
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
    ['has no sub', () => ({ sub: undefined })],
    ['has an iat more than 60 s in the future', () => ({ iat: now() + 70 })],
    ['has an nbf more than 60 s in the future', () => ({ nbf: now() + 70 })],
  ])('an assertion that %s is rejected', async (_title, claims) => {
    expect(await authenticateWith(claims())).toMatchObject({ status: 401, error: 'invalid_client' });
  });

  test('an assertion that is not a JWT, or has no type, is rejected', async () => {
    const authentication = await client.authenticate();
    const { client_assertion_type: _, ...withoutType } = authentication;
    const notAJwt = { ...authentication, client_assertion: 'garbage' };
    for (const credentials of [withoutType, notAJwt])
      expect(await server.token({ ...form, ...credentials })).toMatchObject({ status: 401, error: 'invalid_client' });
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
    const response = await requestToken(form, await keyClient.proof(tokenUrl()), keyClient);
    expect(response).toMatchObject({ status: 200, token_type: 'DPoP' });
  });

  test('the keys of a client are fetched from its jwks_uri only if its network is allowed', async () => {
    const keyServer = await serveHttp((_request, response) => {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ keys: [client.publicJwk] }));
    });
    const { jwks: _, ...metadata } = fapiClient('remote', []);
    const jwks_uri = `${keyServer.url}/jwks`;
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
    await keyServer.close();
  });
});

describe('pushed authorization requests', () => {
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

describe('how much pushed requests store, and how many can be pushed', () => {
  const plainRequest = { response_type: 'code', scope: `openid ${scopes.play}`, ...pkce.challenge };
  const publicRequest = { ...plainRequest, client_id: 'demo-spa', redirect_uri: 'http://localhost:4010/spa' };
  const webRequest = { ...plainRequest, client_id: 'demo-web', redirect_uri: webCallback };
  const demoWeb = basic('demo-web', 'demo-web-secret');

  const pushFrom = (form: Record<string, string>, headers: Record<string, string>, origin = server.origin) =>
    fetch(`${origin}/connect/par`, { method: 'POST', body: new URLSearchParams(form), headers });
  const fromAddress = (address: string) => ({ 'X-Forwarded-For': address });

  /** Pushes 20 requests at the same time. Returns the responses. */
  const pushMany = (send: (n: number) => Promise<Response>) =>
    Promise.all(Array.from({ length: 20 }, (_, n) => send(n)));
  /** Changes the database as if this many requests had been counted in this minute. */
  const setCount = (prefix: string, points: number) =>
    server.db('guard_count').whereLike('key', `${prefix}%`).update({ points });

  test('above 300 requests a minute, an address gets 429 for public clients, over all instances', async () => {
    const { origin } = await server.startInstance();
    await pushFrom(publicRequest, fromAddress('192.0.2.1'));
    expect(await setCount('push-address', 290)).toBeGreaterThan(0);
    const responses = await pushMany((n) =>
      pushFrom(publicRequest, fromAddress('192.0.2.1'), n % 2 === 0 ? server.origin : origin),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(10);
    const [refused] = responses.filter(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused?.json()).toMatchObject({ error: 'invalid_request' });
    expect((await pushFrom(publicRequest, fromAddress('192.0.2.2'))).status).toBe(201);
    expect((await pushFrom(webRequest, { ...demoWeb, ...fromAddress('192.0.2.1') })).status).toBe(201);
  });

  test('above 1000 requests a minute, a client gets 429 whatever its address', async () => {
    await pushFrom(webRequest, demoWeb);
    await setCount('push-client', 999);
    const responses = await pushMany((n) => pushFrom(webRequest, { ...demoWeb, ...fromAddress(`192.0.2.${n}`) }));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(19);
  });
});
