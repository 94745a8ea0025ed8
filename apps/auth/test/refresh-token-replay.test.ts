// Tests the difference between a concurrent use and a replay of a refresh token. A concurrent use is rejected. A replay
// also revokes the grant (RFC 9700 section 4.14.2; docs/behaviour.md, "Codes, refresh tokens and replay").
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';
import { hashSecret } from '../src/secrets.ts';
import { eventually, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

const newRefreshToken = async (): Promise<string> => {
  const credentials = { username: 'player@example.com', password: 'demo-player-pass' };
  const form = { grant_type: 'password', client_id: 'demo-native', scope: `offline_access ${scopes.play}` };
  return String((await statusAndBody(await server.post('/connect/token', { ...form, ...credentials }))).refresh_token);
};
const refreshForm = (token: string) => ({
  grant_type: 'refresh_token',
  refresh_token: token,
  client_id: 'demo-native',
});
const refreshAt = async (origin: string, token: string) =>
  statusAndBody(
    await fetch(`${origin}/connect/token`, { method: 'POST', body: new URLSearchParams(refreshForm(token)) }),
  );
const refresh = (token: string) => refreshAt(server.origin, token);

/**
 * Opens a connection and sends nothing yet. The server records when connections are opened, but only after its first
 * request. Each test sends this request before it opens a connection (`newRefreshToken`).
 */
const openConnection = async (): Promise<Socket> => {
  const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};
const httpRequest = (token: string): string => {
  const body = new URLSearchParams(refreshForm(token)).toString();
  const type = 'Content-Type: application/x-www-form-urlencoded';
  return `POST /connect/token HTTP/1.1\r\nHost: test\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
const statusOf = async (socket: Socket): Promise<string> => {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString().slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
};
/** Counts the token responses. Each response adds an audit event, which is stored after the response. */
const countTokenResponses = async (): Promise<number> => {
  await server.auth.waitUntilIdle();
  return (await server.db('audit_event').where({ kind: 'token.issued' })).length;
};

test('a use after the response to the first use is a replay, even at another instance', async () => {
  const other = await server.startInstance();
  for (const origin of [server.origin, other.origin]) {
    const token = await newRefreshToken();
    const { refresh_token: successor } = await refresh(token);
    expect(await refreshAt(origin, token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refresh(String(successor))).toMatchObject({ status: 400, error: 'invalid_grant' });
  }
});

test('a use whose connection was opened before the response to the first use revokes nothing', async () => {
  const token = await newRefreshToken();
  const earlyConnection = await openConnection();
  const { refresh_token: successor } = await refresh(token);
  earlyConnection.write(httpRequest(token));
  expect(await statusOf(earlyConnection)).toBe('400');
  earlyConnection.destroy();
  expect(await refresh(String(successor))).toMatchObject({ status: 200 });
});

test('a later request on a connection that was opened before the response to the first use is a replay', async () => {
  const token = await newRefreshToken();
  const earlyConnection = await openConnection();
  earlyConnection.write(httpRequest('made-up'));
  expect(await statusOf(earlyConnection)).toBe('400');
  const { refresh_token: successor } = await refresh(token);
  earlyConnection.write(httpRequest(token));
  expect(await statusOf(earlyConnection)).toBe('400');
  earlyConnection.destroy();
  expect(await refresh(String(successor))).toMatchObject({ status: 400, error: 'invalid_grant' });
});

test('a use is a replay even if the client has not received the response to the first use', async () => {
  const [blocked, token] = [await newRefreshToken(), await newRefreshToken()];
  const rowOf = (value: string) => server.db('oidc_artifact').where({ model: 'RefreshToken', id: hashSecret(value) });
  const [{ grant_id: grantId }] = await rowOf(token).select('grant_id');
  const lock = await server.db.transaction();
  await rowOf(blocked).transacting(lock).forUpdate();
  const before = await countTokenResponses();
  const thief = await openConnection();
  // The response to the second request waits for the response to the first one, which waits for the lock.
  thief.write(httpRequest(blocked) + httpRequest(token));
  await eventually(async () => (await countTokenResponses()) > before);
  expect(await refresh(token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  await lock.rollback();
  thief.destroy();
  expect(await server.db('oidc_artifact').where({ grant_id: grantId })).toEqual([]);
});
