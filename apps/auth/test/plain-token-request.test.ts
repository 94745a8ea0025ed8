// Tests token requests of personal access tokens: errors, the rate limit, the audit trail and an unavailable database.
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

const id = 'demo-pat-north';
const secret = 'demo-pat-north-secret';
const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret, scope: scopes.bookings };
const requestToken = (fields: Record<string, string>, headers?: Record<string, string>) =>
  server.post('/connect/token', fields, headers);

test('a request with a wrong secret writes one event to the audit trail', async () => {
  await server.auth.waitUntilIdle();
  await server.db('audit_event').delete();
  expect((await requestToken({ ...form, client_secret: 'wrong' })).status).toBe(401);
  await server.auth.waitUntilIdle();
  expect(await server.db('audit_event').select('kind')).toEqual([{ kind: 'token.refused' }]);
});

test('a token is audited once, with its account and client', async () => {
  await server.auth.waitUntilIdle();
  await server.db('audit_event').delete();
  await requestToken(form);
  await server.auth.waitUntilIdle();
  const events = await server.db('audit_event').select(['kind', 'account_id', 'client_id', 'address', 'detail']);
  expect(events).toEqual([
    {
      kind: 'token.issued',
      account_id: 'acc-bot-north',
      client_id: id,
      address: '127.0.0.1',
      detail: { grantType: 'client_credentials', scope: scopes.bookings },
    },
  ]);
});

test.each([
  ['Basic with a second client_id', { client_id: 'demo-pat-south' }, basic(id, secret), 400, 'invalid_request'],
  ['Basic with a secret in the body', { client_secret: secret }, basic(id, secret), 400, 'invalid_request'],
  ['Basic that is not base64', {}, { Authorization: 'Basic ???' }, 401, 'invalid_client'],
  ['Basic of an unknown client', {}, basic('nobody', secret), 401, 'invalid_client'],
  ['no secret', { client_id: id }, {}, 401, 'invalid_client'],
  ['a secret of a public client', { client_id: 'demo-native', client_secret: 'x' }, {}, 401, 'invalid_client'],
  [
    'another grant type',
    { grant_type: 'password', client_id: id, client_secret: secret },
    {},
    400,
    'unauthorized_client',
  ],
])('%s is rejected', async (_title, fields, headers, status, error) => {
  const { grant_type, scope } = form;
  const body = await statusAndBody(await requestToken({ grant_type, scope, ...(fields as object) }, headers as never));
  expect(body).toMatchObject({ status, error });
});

test.each(Object.entries(form))('%s that is sent twice returns invalid_request', async (name, value) => {
  const response = await server.post('/connect/token', { ...form, [name]: [value, value] });
  expect(await statusAndBody(response)).toMatchObject({ status: 400, error: 'invalid_request' });
});

test('the next request is rejected after a revocation, or if the account is disabled or has no role', async () => {
  /** Makes a change in the database, requests a token, and reverts the change. Returns the status of the request. */
  const statusDuring = async (table: string, where: object, change: object, revert: object) => {
    await server.db(table).where(where).update(change);
    const { status } = await requestToken(form);
    await server.db(table).where(where).update(revert);
    return status;
  };
  // The table `client` also contains the personal access tokens. A revoked token is a disabled client.
  const disable = { disabled_at: new Date() };
  const enable = { disabled_at: null };
  expect(await statusDuring('client', { id }, disable, enable)).toBe(401);
  expect(await statusDuring('account', { id: 'acc-bot-north' }, disable, enable)).toBe(401);
  const roles = await server.db('membership').where({ account_id: 'acc-bot-north' }).delete('*');
  expect((await requestToken(form)).status).toBe(400);
  await server.db('membership').insert(roles);
  expect((await requestToken(form)).status).toBe(200);
});

test('RATE_LIMIT_PER_MINUTE limits the requests of a client', async () => {
  const limited = await server.startInstance({ RATE_LIMIT_PER_MINUTE: '2' });
  const requestLimited = async (fields: Record<string, string>) =>
    fetch(`${limited.origin}/connect/token`, { method: 'POST', body: new URLSearchParams(fields) });
  const responses = [await requestLimited(form), await requestLimited(form), await requestLimited(form)];
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(Number(responses[2]?.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('while the database is unavailable, the response is 503 with Retry-After', async () => {
  await server.disconnectDatabase();
  const response = await requestToken(form);
  await server.reconnectDatabase();
  expect(await statusAndBody(response)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
  expect(response.headers.get('retry-after')).toBe('2');
  expect(response.headers.get('cache-control')).toBe('no-store');
});
