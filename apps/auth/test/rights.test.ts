// Tests which scopes of the Bookings API a token gets, and for which facilities: by role, and by the access of a
// personal access token.
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { audience, scopes, startAuthServer } from './auth-server.ts';
import { authorize, passwordTokens, refreshTokens } from './flows.ts';

const { read, bookings, schedule } = scopes;
const password = 'demo-rights-pass';
const facilities = ['fac-1', 'fac-2', 'fac-3'];

const server = useFixture(async () => {
  const started = await startAuthServer();
  const account = (id: string, roles: readonly string[], kind: 'user' | 'service' = 'user') => ({
    id,
    username: id,
    password,
    kind,
    roles: kind === 'user' ? ['player', 'range-owner'] : [],
    memberships: roles.map((role, index) => ({ facilityId: facilities[index] as string, role: role as 'owner' })),
  });
  const pat = (id: string, accountId: string, more: object = {}) => ({
    client_id: id,
    client_secret: `${id}-secret`,
    accountId,
    ...more,
  });
  await started.load({
    facilities: facilities.map((id) => ({ id, name: id })),
    accounts: [
      account('acc-owner', ['owner']),
      account('acc-staff', ['staff']),
      account('acc-nobody', []),
      account('acc-manager', ['facility-manager', 'bookings-manager', 'facility-manager'], 'service'),
      account('acc-bookings', ['bookings-manager'], 'service'),
    ],
    clients: [
      pat('pat-read', 'acc-manager', { access: 'read' }),
      pat('pat-write', 'acc-manager'),
      pat('pat-manage', 'acc-manager', { access: 'manage' }),
      pat('pat-some', 'acc-manager', { access: 'manage', facilities: ['fac-2', 'fac-3'] }),
      pat('pat-none', 'acc-bookings', { access: 'manage', facilities: ['fac-2'] }),
      pat('pat-of-bookings', 'acc-bookings', { access: 'manage' }),
    ],
  });
  return started;
});

const result = async (form: Record<string, string | readonly string[]>) => {
  const body = await server.token(form);
  if (body.status !== 200) return body.error;
  const { scope, facilities: listed, aud, sub } = decodeJwt(String(body.access_token));
  expect({ scope, aud }).toEqual({ scope: body.scope, aud: audience });
  return { sub, facilities: listed };
};
const asUser = (username: string, ...scope: string[]) =>
  result({ grant_type: 'password', client_id: 'demo-native', username, password, scope: scope.join(' ') });
const asProgram = (id: string, scope: readonly string[], facility: readonly string[] = []) =>
  result({
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: `${id}-secret`,
    scope: scope.join(' '),
    facility,
  });

describe('the claim `facilities` of a user', () => {
  test.each([
    ['acc-owner', ['fac-1']],
    ['acc-staff', ['fac-1']],
    ['acc-nobody', []],
  ])('%s has the same facilities for every scope', async (id, expected) => {
    for (const scope of [[read], [bookings], [schedule], [read, bookings, schedule]]) {
      expect(await asUser(id, ...scope)).toEqual({ sub: id, facilities: expected });
    }
  });
});

describe('a personal access token', () => {
  const all = facilities;
  const managed = ['fac-1', 'fac-3'];
  test.each([
    ['pat-read', [read], all],
    ['pat-read', [bookings], 'invalid_scope'],
    ['pat-read', [read, bookings], 'invalid_scope'],
    ['pat-read', [schedule], 'invalid_scope'],
    ['pat-write', [read], all],
    ['pat-write', [bookings], all],
    ['pat-write', [schedule], 'invalid_scope'],
    ['pat-manage', [read], all],
    ['pat-manage', [bookings], all],
    // The account is Bookings Manager of fac-2, so it has no right for every granted scope there.
    ['pat-manage', [schedule], managed],
    ['pat-manage', [read, bookings, schedule], managed],
    ['pat-some', [bookings], ['fac-2', 'fac-3']],
    ['pat-some', [bookings, schedule], ['fac-3']],
    ['pat-of-bookings', [bookings], ['fac-1']],
    ['pat-of-bookings', [schedule], 'invalid_scope'],
    ['pat-none', [bookings], 'invalid_scope'],
    ['pat-write', [scopes.play], 'invalid_scope'],
  ])('%s that requests %j gets %j', async (id, scope, expected) => {
    const accountId = id === 'pat-none' || id === 'pat-of-bookings' ? 'acc-bookings' : 'acc-manager';
    expect(await asProgram(id, scope)).toEqual(
      Array.isArray(expected) ? { sub: accountId, facilities: expected } : expected,
    );
  });

  test('the parameter `facility` selects only among the facilities with the right', async () => {
    expect(await asProgram('pat-manage', [schedule], ['fac-3'])).toEqual({ sub: 'acc-manager', facilities: ['fac-3'] });
    expect(await asProgram('pat-manage', [schedule], ['fac-2'])).toBe('invalid_request');
    expect(await asProgram('pat-some', [bookings], ['fac-1'])).toBe('invalid_request');
  });
});

test('a refresh that narrows the scope gets the facilities of the narrower scope', async () => {
  const username = 'acc-manager';
  const first = await passwordTokens(server, { username, password }, `${bookings} ${schedule} offline_access`);
  expect(decodeJwt(String(first.access_token)).facilities).toEqual(['fac-1', 'fac-3']);
  const narrowed = await refreshTokens(server, first, { client_id: 'demo-native', scope: bookings });
  expect(decodeJwt(String(narrowed.access_token)).facilities).toEqual(facilities);
  const { jti, iat, client_id, grant_id } = decodeJwt(String(narrowed.access_token));
  expect({ jti, iat, client_id, grant_id }).toEqual({
    jti: expect.any(String),
    iat: expect.any(Number),
    client_id: 'demo-native',
    grant_id: decodeJwt(String(first.access_token)).grant_id,
  });
});

test('`roles` lists the roles of the account and those at facilities, each once', async () => {
  const rolesOf = async (id: string) => {
    const request = { response_type: 'id_token token', scope: `openid roles ${scopes.play}`, nonce: 'n' };
    const client = { client_id: 'demo-spa', redirect_uri: 'http://localhost:4010/spa' };
    const tokens = await authorize(server, { ...request, ...client }, { user: { username: id, password } });
    const { roles } = (await (await server.userinfo(tokens.access_token)).json()) as { roles: unknown };
    expect(decodeJwt(String(tokens.id_token)).roles).toEqual(roles);
    return roles;
  };
  expect(await rolesOf('acc-owner')).toEqual(['player', 'range-owner']);
  expect(await rolesOf('acc-staff')).toEqual(['player', 'range-owner', 'range-staff']);
  expect(await rolesOf('acc-manager')).toEqual(['facility-manager', 'bookings-manager']);
});
