// Tests the grant types password and refresh_token (specification, "Resource owner password flow" and "Refresh").
import { useFixture } from '@bay-booking/testkit/fixture';
import { clients, rounds } from '@bay-booking/testkit/rounds';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { audience, passSecondAfterUse, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

const player = {
  grant_type: 'password',
  username: 'player@example.com',
  password: 'demo-player-pass',
  client_id: 'demo-native',
};
const requestToken = async (form: Record<string, string>) => statusAndBody(await server.post('/connect/token', form));
const refresh = (token: unknown, more: Record<string, string> = {}) =>
  requestToken({ grant_type: 'refresh_token', refresh_token: String(token), client_id: 'demo-native', ...more });
const signIn = async (scope = `offline_access ${scopes.play}`): Promise<Record<string, unknown>> => {
  const body = await requestToken({ ...player, scope });
  expect(body).toMatchObject({ status: 200 });
  return body;
};

describe('the password grant', () => {
  test('the password grant returns access_token, expires_in and token_type', async () => {
    const body = await requestToken({ ...player, scope: scopes.play });
    expect(body).toEqual({
      status: 200,
      access_token: expect.any(String),
      expires_in: 3600,
      token_type: 'Bearer',
      scope: scopes.play,
    });
    expect(decodeJwt(String(body.access_token))).toMatchObject({
      iss: server.origin,
      aud: audience,
      sub: 'acc-player',
      client_id: 'demo-native',
      scope: scopes.play,
    });
  });

  test('the password grant with offline_access also returns a refresh_token', async () => {
    const body = await requestToken({ ...player, scope: `offline_access ${scopes.play}` });
    expect(body).toMatchObject({
      status: 200,
      refresh_token: expect.any(String),
      scope: `offline_access ${scopes.play}`,
    });
  });

  test('a token of the password grant with {scope_base}/golf/bookings has the facilities of its subject', async () => {
    // User names are not case-sensitive.
    const owner = { ...player, username: 'OWNER@north.example', password: 'demo-owner-pass', scope: scopes.bookings };
    const body = await requestToken(owner);
    expect(decodeJwt(String(body.access_token)).facilities).toEqual(['fac-north']);
  });

  test('the password grant returns the same invalid_grant for a wrong password and an unknown username', async () => {
    const wrong = await requestToken({ ...player, password: 'wrong', scope: scopes.play });
    const unknown = await requestToken({ ...player, username: 'nobody@example.com', scope: scopes.play });
    expect(wrong).toEqual({ status: 400, error: 'invalid_grant', error_description: 'grant request is invalid' });
    expect(unknown).toEqual(wrong);
  });

  test.each([
    ['openid', `openid ${scopes.play}`],
    ['profile', `profile ${scopes.play}`],
    ['email', `email ${scopes.play}`],
    ['roles', `roles ${scopes.play}`],
    ['an unknown scope', `phone ${scopes.play}`],
    ['no scope', ''],
    ['offline_access alone', 'offline_access'],
  ])('the password grant with %s returns invalid_scope', async (_title, scope) => {
    expect(await requestToken({ ...player, scope })).toMatchObject({ status: 400, error: 'invalid_scope' });
  });

  test('the password grant without a password returns invalid_request', async () => {
    const { password: _, ...rest } = player;
    expect(await requestToken({ ...rest, scope: scopes.play })).toMatchObject({
      status: 400,
      error: 'invalid_request',
    });
  });

  test('the password grant of a client that may not use it returns unauthorized_client', async () => {
    const body = await requestToken({ ...player, client_id: 'demo-spa', scope: scopes.play });
    expect(body).toMatchObject({ status: 400, error: 'unauthorized_client' });
  });

  test('the password grant of a disabled account returns invalid_grant', async () => {
    await server.db('account').where({ id: 'acc-player' }).update({ disabled_at: new Date() });
    expect(await requestToken({ ...player, scope: scopes.play })).toMatchObject({
      status: 400,
      error: 'invalid_grant',
    });
    await server.db('account').where({ id: 'acc-player' }).update({ disabled_at: null });
  });

  test('the password grant works with openid-client', async () => {
    const config = await openid.discovery(new URL(server.origin), 'demo-native', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
    });
    const { username, password } = player;
    const tokens = await openid.genericGrantRequest(config, 'password', { username, password, scope: scopes.play });
    expect(tokens.expires_in).toBe(3600);
  });
});

describe('refresh', () => {
  test('a refresh gives a new access_token and a new refresh_token', async () => {
    const first = await signIn();
    const second = await refresh(first.refresh_token);
    expect(second).toEqual({
      status: 200,
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      expires_in: 3600,
      token_type: 'Bearer',
      scope: `offline_access ${scopes.play}`,
    });
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(decodeJwt(String(second.access_token))).toMatchObject({ sub: 'acc-player', scope: scopes.play });
    expect(await refresh(second.refresh_token)).toMatchObject({ status: 200 });
  });

  test('a previously used refresh token cannot be reused, and its replay revokes the whole grant', async () => {
    const first = await signIn();
    const second = await refresh(first.refresh_token);
    await passSecondAfterUse(server.db);
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refresh(second.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  test('the parameter scope limits the new access token, and not the next refresh', async () => {
    const first = await signIn(`offline_access ${scopes.play} ${scopes.bookings}`);
    const narrow = await refresh(first.refresh_token, { scope: scopes.play });
    expect(narrow).toMatchObject({ status: 200, scope: scopes.play });
    expect(decodeJwt(String(narrow.access_token))).toMatchObject({ scope: scopes.play });
    expect(decodeJwt(String(narrow.access_token))).not.toHaveProperty('facilities');
    const wide = await refresh(narrow.refresh_token);
    expect(decodeJwt(String(wide.access_token)).scope).toBe(`${scopes.play} ${scopes.bookings}`);
  });

  test.each([
    ['a foreign resource', { resource: 'https://other.example' }, 'invalid_target'],
    ['our resource and a foreign one', { resource: [audience, 'https://other.example'] }, 'invalid_target'],
    ['a resource of another scope', { resource: 'MANAGEMENT' }, 'invalid_target'],
    ['an unknown facility', { facility: 'fac-none' }, 'invalid_request'],
    ['an unknown scope', { scope: 'unknown' }, 'invalid_scope'],
    ['a repeated scope', { scope: [scopes.bookings, scopes.bookings] }, 'invalid_request'],
  ])('a refresh for %s is rejected, and the token stays usable', async (_title, more, error) => {
    const { refresh_token: token } = await signIn(`offline_access ${scopes.bookings}`);
    const form = { grant_type: 'refresh_token', refresh_token: String(token), client_id: 'demo-native' };
    const fields =
      'resource' in more && more.resource === 'MANAGEMENT' ? { resource: `${server.origin}/management` } : more;
    const rejected = await statusAndBody(await server.post('/connect/token', { ...form, ...fields } as typeof form));
    expect(rejected).toMatchObject({ status: 400, error });
    expect(await refresh(token, { resource: audience })).toMatchObject({ status: 200 });
  });

  test('a refresh for a scope that was not granted gives invalid_scope, and the token stays usable', async () => {
    const first = await signIn();
    for (const scope of [scopes.bookings, 'offline_access']) {
      expect(await refresh(first.refresh_token, { scope })).toMatchObject({ status: 400, error: 'invalid_scope' });
    }
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 200 });
  });

  test('an unknown token, or the token of another client, gives invalid_grant', async () => {
    const first = await signIn();
    const tokenOfOtherClient = await requestToken({
      grant_type: 'refresh_token',
      refresh_token: String(first.refresh_token),
      client_id: 'demo-web',
      client_secret: 'demo-web-secret',
    });
    expect(tokenOfOtherClient).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refresh('made-up')).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 200 });
  });

  test('a refresh of a disabled account gives invalid_grant', async () => {
    const first = await signIn();
    await server.db('account').where({ id: 'acc-player' }).update({ disabled_at: new Date() });
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    await server.db('account').where({ id: 'acc-player' }).update({ disabled_at: null });
  });

  test('the table of artifacts contains no token', async () => {
    const { refresh_token, access_token } = await signIn();
    const { rows } = await server.db.raw('select * from oidc_artifact');
    expect(JSON.stringify(rows)).not.toContain(String(refresh_token));
    expect(JSON.stringify(rows)).not.toContain(String(access_token));
  });

  test('exactly one of many concurrent uses of a refresh token succeeds, in every round', async () => {
    // These requests open the connections, so that all requests of a round are sent before the first response.
    await Promise.all(Array.from({ length: clients(32) }, () => refresh('made-up')));
    for (let round = 0; round < rounds(20); round += 1) {
      const { refresh_token: token } = await signIn();
      const responses = await Promise.all(Array.from({ length: clients(32) }, () => refresh(token)));
      const statuses = responses.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(responses.filter(({ error }) => error === 'invalid_grant')).toHaveLength(clients(32) - 1);
      // The concurrent uses have not revoked the grant, so the new refresh token works. A later use of the old token is
      // a replay.
      const winner = responses.find(({ status }) => status === 200);
      const next = await refresh(winner?.refresh_token);
      expect(next).toMatchObject({ status: 200 });
      await passSecondAfterUse(server.db);
      expect(await refresh(token)).toMatchObject({ status: 400, error: 'invalid_grant' });
      expect(await refresh(next.refresh_token)).toMatchObject({ status: 400, error: 'invalid_grant' });
    }
  });
});

test('every issued token, rejected request and revocation is in the audit trail, without secrets', async () => {
  const first = await signIn();
  await refresh(first.refresh_token);
  await passSecondAfterUse(server.db);
  // The second use of the refresh token is a replay, which revokes the grant.
  await refresh(first.refresh_token);
  await requestToken({ ...player, password: 'wrong-and-secret', scope: scopes.play });
  await server.auth.waitUntilIdle();
  const { rows } = await server.db.raw('select kind, account_id, client_id, address, detail from audit_event');
  const kinds = new Set(rows.map(({ kind }: { kind: string }) => kind));
  expect([...kinds]).toEqual(
    expect.arrayContaining(['token.issued', 'token.refused', 'grant.revoked', 'sign-in.refused']),
  );
  expect(rows).toContainEqual({
    kind: 'token.issued',
    account_id: 'acc-player',
    client_id: 'demo-native',
    address: '127.0.0.1',
    detail: { grantType: 'password', scope: `offline_access ${scopes.play}` },
  });
  const records = JSON.stringify(rows) + server.log.join('');
  for (const secret of ['demo-player-pass', 'wrong-and-secret', first.refresh_token, first.access_token]) {
    expect(records).not.toContain(String(secret));
  }
});
