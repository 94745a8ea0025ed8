// Tests the rules for every request to a protocol endpoint: its length, its parameters, its body, OPTIONS and the
// header Authorization (docs/behaviour-auth.md, "Endpoints of the authorization server").
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { audience, basic, patForm, scopes, startAuthServer, statusAndBody } from './auth-server.ts';
import { authorizeUrl, openBrowser, pkce, player, redirectParameters, webRequest } from './flows.ts';

const server = useFixture(() => startAuthServer());
const request = { ...webRequest, scope: `openid ${scopes.play}` };
const storedArtifacts = async (): Promise<number> => (await server.db('oidc_artifact')).length;
const formPaths = ['token', 'introspect', 'revocation', 'par', 'deviceauthorization', 'userinfo', 'authorize'].map(
  (name) => `/connect/${name}`,
);
/** `fetch` would change the target, which may be a whole URL. */
const getTarget = (target: string) =>
  new Promise<{ status?: number | undefined; type?: string | undefined; body: string }>((resolve, reject) => {
    get({ port: new URL(server.origin).port, path: target }, async (response) =>
      resolve({ status: response.statusCode, type: response.headers['content-type'], body: await text(response) }),
    ).on('error', reject);
  });
const allFormPaths = [...formPaths, '/connect/endsession', '/connect/endsession/confirm', '/device'];

describe('the length of a request', () => {
  test.each([
    ['GET', '/connect/authorize'],
    ['POST', '/connect/authorize'],
    ['GET', '/connect/endsession'],
    ['POST', '/connect/endsession'],
  ])('%s %s with a query of more than 8 kB is rejected and not stored', async (method, path) => {
    const before = await storedArtifacts();
    const form = new URLSearchParams({ ...request, state: 'x'.repeat(8_200) });
    const url = server.origin + path;
    const response = await (method === 'GET' ? fetch(`${url}?${form}`) : fetch(url, { method, body: form }));
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('the query has more than 8192 bytes');
    expect(await storedArtifacts()).toBe(before);
  });

  test('an authorization request of fewer than 8000 characters is stored', async () => {
    const before = await storedArtifacts();
    const url = authorizeUrl(server, { ...request, state: 'x'.repeat(7_000) });
    expect((await fetch(url, { redirect: 'manual' })).status).toBe(303);
    expect(await storedArtifacts()).toBe(before + 1);
  });

  test.each([
    ['/connect/par', 'demo-spa', { ...request, redirect_uri: 'http://localhost:4010/spa' }],
    ['/connect/deviceauthorization', 'demo-screen', { scope: 'openid' }],
  ])('a request of more than 16 kB to %s is rejected and not stored', async (path, clientId, form) => {
    const before = await storedArtifacts();
    const response = await server.post(path, { ...form, client_id: clientId, state: 'x'.repeat(17_000) });
    expect(await statusAndBody(response)).toMatchObject({ status: 413, error: 'invalid_request' });
    expect(await storedArtifacts()).toBe(before);
  });
});

describe('more than 100 parameters are rejected before a library reads them', () => {
  const pages = ['/connect/authorize/abc', '/connect/endsession/success', '/device', '/device/abc', '/sign-in', '/x'];
  const machines = ['/connect/Token/', '/connect/jwks', '/.well-known/revocations', '/management/accounts'];

  test.each([...pages, ...machines, '/connect/Authorize', 'http://other.example/connect/authorize'])(
    'in the query of %s',
    async (target) => {
      for (const parameters of ['a&'.repeat(3_900), '&'.repeat(8_000), 'a=b&'.repeat(100)]) {
        const { status, type, body } = await getTarget(`${target}?${parameters}`);
        expect([status, type]).toEqual([
          400,
          `${machines.includes(target) ? 'application/json' : 'text/html'}; charset=utf-8`,
        ]);
        expect(body).toContain('more than 100 parameters');
      }
    },
  );

  test.each(allFormPaths)('in the body at %s', async (path) => {
    const body = 'a&'.repeat(8_000);
    const response = await fetch(server.origin + path, { method: 'POST', body, headers: { 'Content-Type': form } });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('more than 100 parameters');
  });

  test('100 parameters are allowed', async () => {
    expect((await server.post('/connect/token', { ...patForm, a: Array(96).fill('b') })).status).toBe(200);
  });
});

const form = 'application/x-www-form-urlencoded';

test.each(allFormPaths)('%s says which type and encoding of a body it does not read', async (path) => {
  const send = async (headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer> = 'a=b') => {
    // `fetch` adds a type to a body that is a string.
    const response = await fetch(server.origin + path, { method: 'POST', headers, body: Buffer.from(body) });
    return `${response.status} ${await response.text()}`;
  };
  const type = { 'Content-Type': form };
  expect(await send({})).toMatch(/^400 .*Content-Type of the body must be application\/x-www-form-urlencoded/s);
  expect(await send({ 'Content-Type': 'application/json' }, '{}')).toMatch(/^400 .*Content-Type of the body must be/s);
  const zipped = new Uint8Array(gzipSync('a=b'));
  expect(await send({ ...type, 'Content-Encoding': 'gzip' }, zipped)).toMatch(/^400 .*must not have a Content-Enc/s);
  for (const charset of ['klingon', 'utf-16', '"UTF-16LE"', 'utf-32'])
    expect(await send({ 'Content-Type': `${form}; charset=${charset}` })).toMatch(
      /^400 .*charset of the body must be/s,
    );
});

describe('a parameter without a value counts as left out', () => {
  test.each([
    ['/connect/token', { ...patForm, facility: '', resource: '', username: '' }],
    ['/connect/token', { ...patForm, facility: ['', 'fac-north'] }],
    ['/connect/token', { ...patForm, scope: ['', scopes.bookings] }],
    ['/connect/deviceauthorization', { client_id: 'demo-screen', scope: 'openid', resource: '', prompt: '' }],
    ['/connect/introspect', { ...patForm, token: ['', 'x'], token_type_hint: '' }],
    ['/connect/revocation', { ...patForm, token: 'x', token_type_hint: ['', ''] }],
  ])('at %s: %p', async (path, fields) => {
    expect((await server.post(path, fields as Record<string, string>)).status).toBe(200);
  });

  test('at par, authorize, the end of a session, userinfo and the list of revocations', async () => {
    const web = { ...basic('demo-web', 'demo-web-secret') };
    const empty = { resource: '', nonce: '', prompt: '', max_age: '', id_token_hint: '' };
    expect((await server.post('/connect/par', { ...request, ...empty }, web)).status).toBe(201);
    const statusOf = async (path: string) => (await fetch(server.origin + path, { redirect: 'manual' })).status;
    expect(await statusOf(`/connect/authorize?${new URLSearchParams({ ...request, ...empty })}&prompt&max_age=`)).toBe(
      303,
    );
    expect(await statusOf('/connect/endsession?id_token_hint=&client_id=&client_id=')).toBe(200);
    expect(await statusOf('/connect/userinfo?access_token=')).toBe(401);
    expect(await statusOf('/.well-known/revocations?after=')).toBe(200);
  });
});

test.each([
  ['/connect/token', patForm],
  ['/connect/token', { ...player, grant_type: 'password', client_id: 'demo-native', scope: scopes.play }],
  ['/connect/par', { ...webRequest, scope: scopes.play, client_secret: 'demo-web-secret' }],
  ['/connect/deviceauthorization', { client_id: 'demo-screen', scope: `openid ${scopes.play}` }],
])('every resource must be allowed at %s: %p', async (path, fields) => {
  const send = (resource: readonly string[]) => server.post(path, { ...fields, resource });
  expect((await send([audience])).status).toBeLessThan(300);
  for (const resource of [[audience, 'https://other.example'], ['https://other.example', audience], ['x']]) {
    expect(await statusAndBody(await send(resource))).toMatchObject({ status: 400, error: 'invalid_target' });
  }
});

test('several spaces may follow the scheme of Authorization', async () => {
  const { access_token } = await server.token(patForm);
  const { Authorization = '' } = basic(patForm.client_id, patForm.client_secret);
  const { grant_type, scope } = patForm;
  const spaced = { Authorization: Authorization.replace(' ', '   ') };
  expect((await server.post('/connect/token', { grant_type, scope }, spaced)).status).toBe(200);
  expect((await server.post('/connect/introspect', { token: 'x' }, spaced)).status).toBe(200);
  expect((await server.post('/connect/revocation', { token: 'x' }, spaced)).status).toBe(200);
  const headers = { Authorization: `Bearer  ${access_token}` };
  // The token is valid, but has no scope `openid`.
  expect((await fetch(`${server.origin}/connect/userinfo`, { headers })).status).toBe(403);
});

test.each([...allFormPaths, '/connect/jwks', '/.well-known/openid-configuration', '/.well-known/revocations'])(
  'OPTIONS at %s returns 204 with Allow, and a preflight request allows the headers of clients',
  async (path) => {
    const url = server.origin + path;
    const { status, headers } = await fetch(url, { method: 'OPTIONS' });
    expect([status, headers.get('allow')]).toEqual([204, expect.stringMatching(/(GET|POST).*, OPTIONS$/)]);
    const preflight = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' };
    const allowed = (await fetch(url, { method: 'OPTIONS', headers: preflight })).headers;
    expect(allowed.get('access-control-allow-headers')).toContain(
      'Authorization, Content-Type, DPoP, traceparent, tracestate',
    );
  },
);

describe('an authorization request with a repeated parameter (RFC 6749 section 3.1)', () => {
  const callback = 'http://localhost:4010/spa';
  const spaRequest = { client_id: 'demo-spa', redirect_uri: callback, state: 'st-1' };
  const requests: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    code: { ...spaRequest, response_type: 'code', scope: scopes.play, ...pkce.challenge },
    // The server rewrites this request.
    token: { ...spaRequest, response_type: 'token', scope: scopes.play },
  };
  /** If one of these parameters is repeated, the server can still redirect the browser to the client. */
  const redirectableParameters = `response_type scope state acr_values claims_locales code_challenge
    code_challenge_method display id_token_hint idp login_hint max_age nonce prompt registration request request_uri
    response_mode ui_locales`.split(/\s+/);

  /** The parameters of a request in which one parameter occurs twice, with one value or with two. */
  function repeat(responseType: string, name: string, secondValue?: string): URLSearchParams {
    const parameters = new URLSearchParams(requests[responseType]);
    const value = parameters.get(name) ?? 'x';
    parameters.set(name, value);
    parameters.append(name, secondValue ?? value);
    return parameters;
  }
  const openRequest = (parameters: URLSearchParams) => openBrowser(server).open(`/connect/authorize?${parameters}`);

  /** Sends the request with POST. The server redirects it to a GET request, which this function follows. */
  async function postRequest(body: URLSearchParams, query = '') {
    const response = await fetch(`${server.origin}/connect/authorize${query}`, {
      method: 'POST',
      body,
      redirect: 'manual',
    });
    expect(response.status).toBe(303);
    return openBrowser(server).open(new URL(String(response.headers.get('location')), server.origin));
  }

  describe.each(Object.keys(requests))('with response_type=%s', (responseType) => {
    test.each(redirectableParameters)('a repeated %s gives invalid_request at the redirect URI', async (name) => {
      const withTwoValues = await postRequest(repeat(responseType, name, 'y'));
      for (const page of [await openRequest(repeat(responseType, name)), withTwoValues]) {
        expect(page.url.href.startsWith(callback)).toBe(true);
        expect(redirectParameters(page)).toMatchObject({
          error: 'invalid_request',
          error_description: expect.stringContaining('twice'),
          // A repeated state is not returned.
          ...(name !== 'state' && { state: 'st-1' }),
        });
      }
    });

    test.each(['client_id', 'redirect_uri'])('a repeated %s gives an error page, and no redirect', async (name) => {
      const parameters = repeat(responseType, name);
      for (const page of [await openRequest(parameters), await postRequest(parameters)]) {
        expect(page.status).toBe(400);
        expect(page.html).toContain('invalid_request');
      }
    });
  });

  test('a parameter in the body and in the query is rejected', async () => {
    const page = await postRequest(new URLSearchParams({ ...requests.token, nonce: 'n-1' }), '?nonce=n-1');
    expect(redirectParameters(page)).toMatchObject({ error: 'invalid_request' });
  });
});
