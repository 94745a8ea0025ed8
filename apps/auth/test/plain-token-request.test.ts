// Tests that the fast path for plain token requests gives the same responses as oidc-provider, which serves all other
// token requests (docs/decisions/0009-fast-path-for-client-credentials.md).
import { connect, type Socket } from 'node:net';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

const id = 'demo-pat-north';
const secret = 'demo-pat-north-secret';
/** The form of a plain request: exactly these four parameters, each once. */
const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret, scope: scopes.bookings };
/** An unknown parameter. oidc-provider ignores it, but a request with this parameter is not plain. */
const withUnknownParameter = { ...form, anything: 'else' };
const requestToken = (fields: Record<string, string>, headers?: Record<string, string>) =>
  server.post('/connect/token', fields, headers);

/** Returns the headers that do not differ from one request to the next. */
const stableHeaders = (response: Response) =>
  Object.fromEntries(
    [...response.headers].filter(([name]) => !['date', 'x-request-id', 'content-length'].includes(name)),
  );

describe('plain requests and requests with an unknown parameter', () => {
  test('a plain request and another request get the same headers, body and kind of token', async () => {
    const plainResponse = await requestToken(form);
    const otherResponse = await requestToken(withUnknownParameter);
    expect([plainResponse.status, otherResponse.status]).toEqual([200, 200]);
    expect(stableHeaders(plainResponse)).toEqual(stableHeaders(otherResponse));
    const plainBody = await statusAndBody(plainResponse);
    const otherBody = await statusAndBody(otherResponse);
    expect({ ...plainBody, access_token: '' }).toEqual({ ...otherBody, access_token: '' });
    const plainToken = String(plainBody.access_token);
    const otherToken = String(otherBody.access_token);
    expect(decodeProtectedHeader(plainToken)).toEqual(decodeProtectedHeader(otherToken));
    const maskedClaims = { jti: '', iat: 0, exp: 0 };
    expect({ ...decodeJwt(plainToken), ...maskedClaims }).toEqual({ ...decodeJwt(otherToken), ...maskedClaims });
    expect(decodeJwt(plainToken).jti).not.toBe(decodeJwt(otherToken).jti);
  });

  test('a plain request and another request write the same event to the audit trail', async () => {
    await server.auth.waitUntilIdle();
    await server.db('audit_event').delete();
    await requestToken(form);
    await requestToken(withUnknownParameter);
    await server.auth.waitUntilIdle();
    const columns = ['kind', 'account_id', 'client_id', 'address', 'detail'];
    const [plainEvent, otherEvent, ...more] = await server.db('audit_event').select(columns);
    expect(plainEvent).toMatchObject({ kind: 'token.issued', account_id: 'acc-bot-north', client_id: id });
    expect(otherEvent).toEqual(plainEvent);
    expect(more).toEqual([]);
  });

  test('with a wrong secret, a plain request and another get the same response and one audit event each', async () => {
    await server.auth.waitUntilIdle();
    await server.db('audit_event').delete();
    const plainResponse = await requestToken({ ...form, client_secret: 'wrong' });
    const otherResponse = await requestToken({ ...withUnknownParameter, client_secret: 'wrong' });
    expect(stableHeaders(plainResponse)).toEqual(stableHeaders(otherResponse));
    const plainBody = await statusAndBody(plainResponse);
    expect(plainBody.status).toBe(401);
    expect(plainBody).toEqual(await statusAndBody(otherResponse));
    await server.auth.waitUntilIdle();
    expect(await server.db('audit_event').select('kind')).toEqual([
      { kind: 'token.refused' },
      { kind: 'token.refused' },
    ]);
  });
});

test.each([
  ['Basic with a second client_id', { client_id: 'demo-pat-south' }, basic(id, secret), 400, 'invalid_request'],
  ['Basic with a secret in the body', { client_secret: secret }, basic(id, secret), 400, 'invalid_request'],
  ['Basic that is not base64', {}, { Authorization: 'Basic ???' }, 401, 'invalid_client'],
  ['Basic of an unknown client', {}, basic('nobody', secret), 401, 'invalid_client'],
  ['no secret', { client_id: id }, {}, 401, 'invalid_client'],
  [
    'another grant type',
    { grant_type: 'password', client_id: id, client_secret: secret },
    {},
    400,
    'unauthorized_client',
  ],
])('%s returns the error of the library', async (_title, fields, headers, status, error) => {
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

describe('requests on one connection', () => {
  const body = new URLSearchParams(form).toString();
  const contentType = 'Content-Type: application/x-www-form-urlencoded';
  const headerOf = (length: number) =>
    `POST /connect/token HTTP/1.1\r\nHost: test\r\n${contentType}\r\nContent-Length: ${length}\r\n\r\n`;
  const open = () => connect(Number(new URL(server.origin).port), '127.0.0.1');
  /** Waits for this number of responses on the connection, and returns their statuses. */
  const statuses = (socket: Socket, wanted: number): Promise<readonly string[]> =>
    new Promise((resolve, reject) => {
      let text = '';
      socket.on('error', reject).on('data', (chunk: Buffer) => {
        text += chunk;
        const found = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => String(status));
        if (found.length < wanted) return;
        socket.destroy();
        resolve(found);
      });
    });

  test('pipelined requests are served in their order: plain, rejected, plain', async () => {
    const socket = open();
    const wrong = body.replace(secret, 'wrong-one');
    socket.write(headerOf(body.length) + body + headerOf(wrong.length) + wrong + headerOf(body.length) + body);
    expect(await statuses(socket, 3)).toEqual(['200', '401', '200']);
  });

  test('a body may arrive in several parts', async () => {
    const socket = open();
    socket.setNoDelay(true);
    socket.write(headerOf(body.length) + body.slice(0, 20));
    // When the server has responded to this other request, it has already read the first part of the body above.
    await fetch(`${server.origin}/health/ready`);
    socket.write(body.slice(20));
    expect(await statuses(socket, 1)).toEqual(['200']);
  });
});

test('RATE_LIMIT_PER_MINUTE counts plain and other requests together', async () => {
  const limited = await server.startInstance({ RATE_LIMIT_PER_MINUTE: '2' });
  const requestLimited = async (fields: Record<string, string>) =>
    fetch(`${limited.origin}/connect/token`, { method: 'POST', body: new URLSearchParams(fields) });
  const responses = [
    await requestLimited(form),
    await requestLimited(withUnknownParameter),
    await requestLimited(form),
  ];
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
