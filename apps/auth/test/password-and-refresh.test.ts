// Tests the grant types password and refresh_token (specification, "Resource owner password flow" and "Refresh"), and
// the second use of a refresh token (RFC 9700 section 4.14.2).
import { useFixture } from '@bay-booking/testkit/fixture';
import { clients, rounds } from '@bay-booking/testkit/rounds';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { audience, passSecondAfterUse, scopes, startAuthServer, statusAndBody } from './auth-server.ts';

const server = useFixture(() => startAuthServer());

const player = {
  grant_type: 'password',
  username: 'player@example.com',
  password: 'demo-player-pass',
  client_id: 'demo-native',
};
const requestToken = async (form: Record<string, string | readonly string[]>) => server.token(form);
const refresh = (token: unknown, more: Record<string, string | readonly string[]> = {}) =>
  requestToken({ grant_type: 'refresh_token', refresh_token: String(token), client_id: 'demo-native', ...more });
const signIn = async (scope = `offline_access ${scopes.play}`): Promise<Record<string, unknown>> => {
  const body = await requestToken({ ...player, scope });
  expect(body).toMatchObject({ status: 200 });
  return body;
};

describe('the password grant', () => {
  test('the password grant returns access_token, expires_in and token_type', async () => {
    const body = await requestToken({ ...player, scope: scopes.play });
    const access_token = expect.any(String);
    expect(body).toEqual({ status: 200, access_token, expires_in: 3600, token_type: 'Bearer', scope: scopes.play });
    const claims = { iss: server.origin, aud: audience, sub: 'acc-player', client_id: 'demo-native' };
    expect(decodeJwt(String(body.access_token))).toMatchObject({ ...claims, scope: scopes.play });
  });

  test.each<[string, Record<string, string>, string]>([
    // oidc/scopes.test.ts has the rules.
    ['no scope', { scope: '' }, 'invalid_scope'],
    ['a scope that needs an id_token', { scope: `openid ${scopes.play}` }, 'invalid_scope'],
    ['no password', { password: '' }, 'invalid_request'],
    ['a client that may not use it', { client_id: 'demo-spa' }, 'unauthorized_client'],
  ])('the password grant with %s returns an error', async (_title, form, error) => {
    expect(await requestToken({ ...player, scope: scopes.play, ...form })).toMatchObject({ status: 400, error });
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

  test.each([
    ['a foreign resource', { resource: 'https://other.example' }, 'invalid_target'],
    ['our resource and a foreign one', { resource: [audience, 'https://other.example'] }, 'invalid_target'],
    ['a resource of another scope', { resource: 'MANAGEMENT' }, 'invalid_target'],
    ['an unknown facility', { facility: 'fac-none' }, 'invalid_request'],
    ['an unknown scope', { scope: 'unknown' }, 'invalid_scope'],
    ['a repeated scope', { scope: [scopes.bookings, scopes.bookings] }, 'invalid_request'],
    ['a scope that was not granted', { scope: scopes.play }, 'invalid_scope'],
    ['offline_access alone', { scope: 'offline_access' }, 'invalid_scope'],
  ])('a refresh for %s is rejected, and the token stays usable', async (_title, more, error) => {
    const { refresh_token: token } = await signIn(`offline_access ${scopes.bookings}`);
    const isManagement = 'resource' in more && more.resource === 'MANAGEMENT';
    const rejected = await refresh(token, isManagement ? { resource: `${server.origin}/management` } : more);
    expect(rejected).toMatchObject({ status: 400, error });
    expect(await refresh(token, { resource: audience })).toMatchObject({ status: 200 });
  });

  test('an unknown token, or the token of another client, gives invalid_grant', async () => {
    const first = await signIn();
    const otherClient = { client_id: 'demo-web', client_secret: 'demo-web-secret' };
    expect(await refresh(first.refresh_token, otherClient)).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refresh('made-up')).toMatchObject({ status: 400, error: 'invalid_grant' });
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 200 });
  });

  test('the table of artifacts contains no token', async () => {
    const { refresh_token, access_token } = await signIn();
    const { rows } = await server.db.raw('select * from oidc_artifact');
    expect(JSON.stringify(rows)).not.toContain(String(refresh_token));
    expect(JSON.stringify(rows)).not.toContain(String(access_token));
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
  const rows = await server.db('audit_event').select('kind', 'account_id', 'client_id', 'address', 'detail');
  const kinds = ['token.issued', 'token.refused', 'grant.revoked', 'sign-in.refused'];
  expect(rows.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds));
  expect(rows).toContainEqual({
    kind: 'token.issued',
    account_id: 'acc-player',
    client_id: 'demo-native',
    address: '127.0.0.1',
    detail: { grantType: 'password', scope: `offline_access ${scopes.play}` },
  });
  const records = JSON.stringify(rows) + server.log.join('');
  for (const secret of ['demo-player-pass', 'wrong-and-secret', first.refresh_token, first.access_token])
    expect(records).not.toContain(String(secret));
});

const refreshAt = async (origin: string, token: unknown) => {
  const form = { grant_type: 'refresh_token', refresh_token: String(token), client_id: 'demo-native' };
  return statusAndBody(await fetch(`${origin}/connect/token`, { method: 'POST', body: new URLSearchParams(form) }));
};
const replayed = { status: 400, error: 'invalid_grant' };
/** A second use of a refresh token comes to either of these instances. */
let origins: readonly string[];
beforeAll(async () => {
  origins = [server.origin, (await server.startInstance()).origin];
});

test('a second use within a second is rejected at every instance, and revokes nothing', async () => {
  for (const origin of origins) {
    const { refresh_token: token } = await signIn();
    const { refresh_token: successor } = await refreshAt(server.origin, token);
    expect(await refreshAt(origin, token)).toMatchObject(replayed);
    expect(await refreshAt(origin, successor)).toMatchObject({ status: 200 });
  }
});

test('a second use 1.1 s later is rejected at every instance, and revokes every token of the grant', async () => {
  for (const origin of origins) {
    const { refresh_token: token } = await signIn();
    const { access_token: accessToken, refresh_token: successor } = await refreshAt(server.origin, token);
    await passSecondAfterUse(server.db);
    expect(await refreshAt(origin, token)).toMatchObject(replayed);
    expect(await refreshAt(origin, successor)).toMatchObject(replayed);
    const grantId = decodeJwt(String(accessToken)).grant_id;
    expect(await server.db('oidc_artifact').where({ grant_id: grantId as string })).toEqual([]);
  }
});

test('of simultaneous uses at two instances exactly one succeeds, and its refresh token works', async () => {
  for (let round = 0; round < rounds(20); round += 1) {
    const { refresh_token: token } = await signIn();
    const responses = await Promise.all(
      Array.from({ length: clients(32) }, (_, index) => refreshAt(String(origins[index % 2]), token)),
    );
    const winners = responses.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(await refreshAt(String(origins[1]), winners[0]?.refresh_token)).toMatchObject({ status: 200 });
  }
});
