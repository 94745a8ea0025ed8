// Tests the metrics of tokens, signing keys and the database (docs/behaviour.md, "Health, metrics and logs").
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { basic, scopes, startAuthServer } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

const metrics = async (): Promise<string> => (await fetch(`${server.origin}/metrics`)).text();
const requestToken = (form: Record<string, string>, secret = 'demo-pat-north-secret') =>
  server.post('/connect/token', { scope: scopes.bookings, ...form }, basic('demo-pat-north', secret));

test('the metrics count token requests by grant type and outcome, and unknown grant types as `other`', async () => {
  expect((await requestToken({ grant_type: 'client_credentials' })).status).toBe(200);
  expect((await requestToken({ grant_type: 'client_credentials', scope: 'openid' })).status).toBe(400);
  expect((await requestToken({ grant_type: 'client_credentials' }, 'wrong')).status).toBe(401);
  expect((await requestToken({ grant_type: 'made-up-by-a-client' })).status).toBe(400);
  const text = await metrics();
  expect(text).toMatch(/auth_tokens_total\{grant_type="client_credentials",outcome="issued",service="auth"\} 1/);
  expect(text).toMatch(/auth_tokens_total\{grant_type="client_credentials",outcome="invalid_scope",service="auth"\} 1/);
  expect(text).toMatch(
    /auth_tokens_total\{grant_type="client_credentials",outcome="invalid_client",service="auth"\} 1/,
  );
  expect(text).toMatch(/auth_tokens_total\{grant_type="other",outcome="\w+",service="auth"\} 1/);
  expect(text).toMatch(/auth_events_total\{kind="token.issued",service="auth"\} 1/);
  expect(text).not.toContain('made-up-by-a-client');
});

test('the error code of a rejected request is in the access log and in the metrics', async () => {
  const { headers } = await requestToken({ grant_type: 'client_credentials' }, 'wrong');
  await requestToken({ grant_type: 'made-up-by-a-client' });
  const requestId = headers.get('x-request-id');
  const line = server.log.map((text) => JSON.parse(text)).find((entry) => entry.requestId === requestId);
  expect(line).toMatchObject({ route: '/connect/token', status: 401, problems: ['invalid_client'] });
  const text = await metrics();
  expect(text).toMatch(
    /http_problems_total\{method="POST",route="\/connect\/token",code="invalid_client",service="auth"\} \d/,
  );
  expect(text).not.toContain('made-up-by-a-client');
});

test('the metrics contain the age of the signing keys and the connections of the pool', async () => {
  const text = await metrics();
  for (const alg of ['ES256', 'RS256']) {
    expect(text).toMatch(new RegExp(`signing_key_age_seconds\\{alg="${alg}",state="current",service="auth"\\} \\d`));
  }
  expect(text).toMatch(/database_pool_connections\{state="limit",service="auth"\} \d+/);
});
