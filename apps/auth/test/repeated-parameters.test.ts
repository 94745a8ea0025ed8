// Tests that an authorization request with a repeated parameter gives invalid_request (RFC 6749 section 3.1).
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { scopes, startAuthServer } from './auth-server.ts';
import { openBrowser, pkce, redirectParameters } from './flows.ts';

const server = useFixture(() => startAuthServer());

const callback = 'http://localhost:4010/spa';
const request = { client_id: 'demo-spa', redirect_uri: callback, state: 'st-1' };
const requests: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  code: { ...request, response_type: 'code', scope: scopes.play, ...pkce.challenge },
  token: { ...request, response_type: 'token', scope: scopes.play },
  'id_token token': { ...request, response_type: 'id_token token', scope: `openid ${scopes.play}`, nonce: 'n-1' },
};
/**
 * The values of the parameters that a request above does not contain. The tests send such a parameter twice with its
 * value. In a JWT, `e30` is the encoded form of `{}`.
 */
const values: Readonly<Record<string, string>> = {
  acr_values: 'idp:google',
  claims_locales: 'da',
  code_challenge: pkce.challenge.code_challenge,
  code_challenge_method: 'S256',
  display: 'page',
  id_token_hint: 'e30.e30.e30',
  idp: 'google',
  login_hint: 'player@example.com',
  max_age: '100',
  nonce: 'n-1',
  prompt: 'login',
  registration: '{}',
  request: 'e30.e30.',
  request_uri: 'https://app.example/request',
  response_mode: 'fragment',
  ui_locales: 'da',
};
/** If one of these parameters is repeated, the server can still redirect the browser to the client. */
const redirectableParameters = ['response_type', 'scope', 'state', ...Object.keys(values)];

/** The parameters of a request in which one parameter occurs twice. */
function repeat(responseType: string, name: string, secondValue?: string): URLSearchParams {
  const parameters = new URLSearchParams(requests[responseType]);
  const value = parameters.get(name) ?? values[name] ?? '';
  parameters.delete(name);
  parameters.append(name, value);
  parameters.append(name, secondValue ?? value);
  return parameters;
}
const get = (parameters: URLSearchParams) =>
  openBrowser(server).open(`${server.origin}/connect/authorize?${parameters}`);

/** Sends the request with POST. The server redirects it to a GET request, which this function follows. */
async function post(body: URLSearchParams, query = '') {
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
    const parameters = repeat(responseType, name);
    for (const page of [await get(parameters), await post(parameters)]) {
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
    for (const page of [await get(parameters), await post(parameters)]) {
      expect(page.status).toBe(400);
      expect(page.html).toContain('invalid_request');
    }
  });
});

test('a parameter with two different values is rejected', async () => {
  const page = await get(repeat('token', 'nonce', 'n-2'));
  expect(redirectParameters(page)).toMatchObject({ error: 'invalid_request' });
});

test('a parameter in the body and in the query is rejected', async () => {
  const page = await post(new URLSearchParams({ ...requests.token, nonce: 'n-1' }), '?nonce=n-1');
  expect(redirectParameters(page)).toMatchObject({ error: 'invalid_request' });
});

test.each(['token', 'id_token token'])('the error is in the fragment with response_type=%s', async (responseType) => {
  const { url } = await get(repeat(responseType, 'nonce'));
  expect(url.search).toBe('');
  expect(new URLSearchParams(url.hash.slice(1)).get('error')).toBe('invalid_request');
});
