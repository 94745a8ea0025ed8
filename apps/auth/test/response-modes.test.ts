// Tests that a client can be limited to some response modes (OWASP ASVS 5.0, 10.4.12).
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { startAuthServer } from './auth-server.ts';
import { authorizeUrl, openBrowser, player, redirectParameters, signInAndConsent } from './flows.ts';

const redirectUri = 'https://app.example/callback';
const client = (id: string, response_modes: readonly string[]) => ({
  client_id: id,
  redirect_uris: [redirectUri],
  response_types: ['code', 'id_token'],
  grant_types: ['authorization_code', 'implicit'],
  // The requests of this test have no code_challenge.
  pkce: 'optional' as const,
  scope: 'openid',
  response_modes,
});

const server = useFixture(async () => {
  const started = await startAuthServer();
  await started.load({ clients: [client('only-query', ['query']), client('only-form-post', ['form_post'])] });
  return started;
});

const request = async (client_id: string, more: Record<string, string>) => {
  const browser = openBrowser(server);
  const params = { response_type: 'code', client_id, redirect_uri: redirectUri, scope: 'openid', nonce: 'n', ...more };
  return signInAndConsent(browser, await browser.open(authorizeUrl(server, params)), player);
};

test('a client may use its response modes, including the default of its response type', async () => {
  expect(redirectParameters(await request('only-query', {})).code).toBeDefined();
  const page = await request('only-form-post', { response_mode: 'form_post' });
  expect(page.forms[0]).toMatchObject({ action: redirectUri, method: 'post' });
});

test.each([
  ['only-query', { response_mode: 'form_post' }],
  ['only-query', { response_mode: 'fragment' }],
  ['only-query', { response_type: 'id_token' }],
  ['only-form-post', {}],
  ['only-form-post', { response_mode: 'query' }],
])('the client %s may not send a request with %j', async (clientId, params) => {
  const page = await request(clientId, params);
  const { error, code, id_token } = redirectParameters(page);
  expect({ code, id_token }).toEqual({ code: undefined, id_token: undefined });
  // The status 0 means that the browser was redirected to the client.
  if (page.status === 0) expect(error).toMatch(/^(unauthorized_client|unsupported_response_mode|invalid_request)$/);
  else expect(page.status).toBe(400);
});

test('the import rejects an unknown response mode', async () => {
  await expect(server.load({ clients: [client('unknown-mode', ['smoke-signal'])] })).rejects.toThrow(/response_modes/);
});
