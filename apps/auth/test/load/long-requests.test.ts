// Tests that authorization requests, device requests and sign-out requests that are too long are rejected, and that
// nothing is stored for them.
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { scopes, startAuthServer } from '../auth-server.ts';
import { authorizeUrl, webRequest } from '../flows.ts';

const server = useFixture(() => startAuthServer());
const request = { ...webRequest, scope: `openid ${scopes.play}` };
const storedInteractions = async (): Promise<number> => {
  const rows = await server.db('oidc_artifact').where({ model: 'Interaction' });
  return rows.length;
};

test.each([
  ['GET', 414],
  ['POST', 413],
] as const)('a %s authorization request that is too long is rejected and not stored', async (method, status) => {
  const before = await storedInteractions();
  const form = new URLSearchParams({ ...request, state: 'x'.repeat(8_000) });
  const url = `${server.origin}/connect/authorize`;
  const response = await (method === 'GET'
    ? fetch(`${url}?${form}`, { redirect: 'manual' })
    : fetch(url, { method, body: form, redirect: 'manual' }));
  expect(response.status).toBe(status);
  expect(await response.text()).toContain('the request is longer than 8000 characters');
  expect(await storedInteractions()).toBe(before);
});

test('a sign-out request of more than 8000 characters is rejected', async () => {
  const response = await fetch(`${server.origin}/connect/endsession?state=${'x'.repeat(8_000)}`);
  expect(response.status).toBe(414);
});

test('an authorization request of fewer than 8000 characters is stored', async () => {
  const before = await storedInteractions();
  const response = await fetch(authorizeUrl(server, { ...request, state: 'x'.repeat(7_000) }), { redirect: 'manual' });
  expect(response.status).toBe(303);
  expect(await storedInteractions()).toBe(before + 1);
});

test.each([
  ['/connect/par', 'demo-spa', { ...request, redirect_uri: 'http://localhost:4010/spa' }],
  ['/connect/deviceauthorization', 'demo-screen', { scope: 'openid' }],
])('a request of more than 16 kB to %s is rejected and not stored', async (path, clientId, form) => {
  const before = await server.db('oidc_artifact');
  const response = await server.post(path, { ...form, client_id: clientId, state: 'x'.repeat(17_000) });
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ error: 'invalid_request' });
  expect(await server.db('oidc_artifact')).toHaveLength(before.length);
});
