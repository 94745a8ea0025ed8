// The token endpoint for a personal access token that asks plainly, beside the library's own way: nobody can tell them apart. Specification,
// "Bookings API access"; contract section 6.
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type AuthServer, basic, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await startAuthServer();
});
afterAll(() => server.close());

const id = 'demo-pat-north';
const secret = 'demo-pat-north-secret';
const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret, scope: scopes.bookings };
/** A parameter that means nothing, and so is the library's to ignore. */
const unusual = { ...form, anything: 'else' };
const ask = (fields: Record<string, string>, headers?: Record<string, string>) =>
  server.post('/connect/token', fields, headers);

const stable = (response: Response) =>
  Object.fromEntries(
    [...response.headers].filter(([name]) => !['date', 'x-request-id', 'content-length'].includes(name)),
  );

describe('a plain request and an unusual one', () => {
  test('get the same headers, answer and kind of token', async () => {
    const [one, other] = [await ask(form), await ask(unusual)];
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(stable(one)).toEqual(stable(other));
    const [plain, full] = [await statusAndBody(one), await statusAndBody(other)];
    expect({ ...plain, access_token: '' }).toEqual({ ...full, access_token: '' });
    const [a, b] = [String(plain.access_token), String(full.access_token)];
    expect(decodeProtectedHeader(a)).toEqual(decodeProtectedHeader(b));
    const changing = { jti: '', iat: 0, exp: 0 };
    expect({ ...decodeJwt(a), ...changing }).toEqual({ ...decodeJwt(b), ...changing });
    expect(decodeJwt(a).jti).not.toBe(decodeJwt(b).jti);
  });

  test('leave the same in the audit trail', async () => {
    await server.auth.settle();
    await server.db('audit_event').delete();
    await ask(form);
    await ask(unusual);
    await server.auth.settle();
    const columns = ['kind', 'account_id', 'client_id', 'address', 'detail'];
    const [one, other, ...more] = await server.db('audit_event').select(columns);
    expect(one).toMatchObject({ kind: 'token.issued', account_id: 'acc-bot-north', client_id: id });
    expect(other).toEqual(one);
    expect(more).toEqual([]);
  });

  test('are refused alike when the secret is wrong, and once in the audit trail', async () => {
    await server.auth.settle();
    await server.db('audit_event').delete();
    const [one, other] = [
      await ask({ ...form, client_secret: 'wrong' }),
      await ask({ ...unusual, client_secret: 'wrong' }),
    ];
    expect(stable(one)).toEqual(stable(other));
    expect(await statusAndBody(one)).toEqual({ ...(await statusAndBody(other)), status: 401 });
    await server.auth.settle();
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
])('%s is refused by the library', async (_title, fields, headers, status, error) => {
  const { grant_type, scope } = form;
  const answer = await statusAndBody(await ask({ grant_type, scope, ...(fields as object) }, headers as never));
  expect(answer).toMatchObject({ status, error });
});

test('a parameter that is sent twice is refused', async () => {
  const response = await server.post('/connect/token', { ...form, client_id: [id, id] });
  expect(await statusAndBody(response)).toMatchObject({ status: 400, error: 'invalid_request' });
});

test('a revoked personal access token, a disabled account and a lost role are seen by the very next request', async () => {
  const refusedWhile = async (table: string, where: object, change: object, back: object) => {
    await server.db(table).where(where).update(change);
    const { status } = await ask(form);
    await server.db(table).where(where).update(back);
    return status;
  };
  const now = { disabled_at: new Date() };
  expect(await refusedWhile('client', { id }, now, { disabled_at: null })).toBe(401);
  expect(await refusedWhile('account', { id: 'acc-bot-north' }, now, { disabled_at: null })).toBe(401);
  const roles = await server.db('membership').where({ account_id: 'acc-bot-north' }).delete('*');
  expect((await ask(form)).status).toBe(400);
  await server.db('membership').insert(roles);
  expect((await ask(form)).status).toBe(200);
});

describe('on one connection', () => {
  const body = new URLSearchParams(form).toString();
  const head = (length: number) =>
    `POST /connect/token HTTP/1.1\r\nHost: test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${length}\r\n\r\n`;
  const open = () => connect(Number(new URL(server.origin).port), '127.0.0.1');
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

  test('plain, refused and plain requests follow each other', async () => {
    const socket = open();
    const wrong = body.replace(secret, 'wrong-one');
    socket.write(head(body.length) + body + head(wrong.length) + wrong + head(body.length) + body);
    expect(await statuses(socket, 3)).toEqual(['200', '401', '200']);
  });

  test('a body that comes in pieces is waited for', async () => {
    const socket = open();
    socket.setNoDelay(true);
    socket.write(head(body.length) + body.slice(0, 20));
    // What came before this request has been read when it is answered.
    await fetch(`${server.origin}/health/ready`);
    socket.write(body.slice(20));
    expect(await statuses(socket, 1)).toEqual(['200']);
  });
});

test('RATE_LIMIT_PER_MINUTE counts plain and unusual requests together', async () => {
  const limited = await server.startInstance({ RATE_LIMIT_PER_MINUTE: '2' });
  const at = async (fields: Record<string, string>) =>
    fetch(`${limited.origin}/connect/token`, { method: 'POST', body: new URLSearchParams(fields) });
  const answers = [await at(form), await at(unusual), await at(form)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(Number(answers[2]?.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('while the database is away the answer is 503 with Retry-After', async () => {
  await server.disconnectDatabase();
  const response = await ask(form);
  await server.reconnectDatabase();
  expect(await statusAndBody(response)).toMatchObject({ status: 503, error: 'temporarily_unavailable' });
  expect(response.headers.get('retry-after')).toBe('2');
  expect(response.headers.get('cache-control')).toBe('no-store');
});
