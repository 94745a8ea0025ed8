// Tests the list of revocations: an entry for each right that ends, and an order in which no reader misses an entry.
import { hash } from 'node:crypto';
import type { Database } from '@bay-booking/service/database/database';
import { useFixture } from '@bay-booking/testkit/fixture';
import { eventually } from '@bay-booking/testkit/wait';
import { describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { passSecondAfterUse, patForm, scopes, statusAndBody } from './auth-server.ts';
import { passwordTokens } from './flows.ts';
import { accountOf, north, password, startPortal } from './portal-fixture.ts';

const portal = useFixture(() => startPortal());

interface List {
  readonly revoked: readonly { readonly id: string; readonly before: number; readonly disabled?: true }[];
  readonly last: number;
  readonly more?: true;
}

const fetchList = (after?: number | string, headers: Record<string, string> = {}) =>
  fetch(portal.at(`/.well-known/revocations${after === undefined ? '' : `?after=${after}`}`), { headers });
const readList = async (after?: number): Promise<List> => {
  const jwt = await (await fetchList(after)).text();
  const keys = createRemoteJWKSet(new URL(portal.at('/connect/jwks')));
  const { payload } = await jwtVerify(jwt, keys, { typ: 'revocations+jwt', issuer: portal.server.origin });
  return payload as unknown as List;
};
const idOf = (text: string) => hash('sha256', text, 'base64url');
const now = () => Date.now() / 1000;

/** Runs `work`, and returns which of the named rights have entries that are new. */
const newEntries = async (names: readonly string[], work: () => Promise<unknown>): Promise<readonly string[]> => {
  const { last } = await readList();
  const begin = now();
  await work();
  const { revoked } = await readList(last);
  for (const { before } of revoked) {
    expect(Number.isInteger(before)).toBe(true);
    expect(before).toBeGreaterThan(begin);
    expect(before).toBeLessThanOrEqual(Math.floor(now()) + 1);
  }
  return names.filter((name) => revoked.some(({ id }) => id === idOf(name)));
};

let count = 0;
/** Adds a person, and signs in with demo-native. */
const addPerson = async () => {
  const name = `person-${++count}`;
  await portal.addAccounts(accountOf(name, { 'fac-north': 'owner' }, { email: `${name}@range.example` }));
  const user = { username: `${name}@range.example`, password };
  const tokens = await passwordTokens(portal.server, user, `offline_access ${scopes.bookings}`);
  const [accessToken, refreshToken] = [String(tokens.access_token), String(tokens.refresh_token)];
  const { grant_id, jti } = decodeJwt(accessToken);
  return { name, id: `acc-${name}`, accessToken, refreshToken, grant: `grant ${grant_id}`, token: `token ${jti}` };
};
const asNative = (path: string, form: Record<string, string>) =>
  portal.server.post(path, { client_id: 'demo-native', ...form });
const addToken = async (facilityId = 'fac-north') => {
  const name = `bot-${++count}`;
  const id = `pat-${count}`;
  await portal.addAccounts(accountOf(name, { [facilityId]: 'facility-manager' }, { kind: 'service' }));
  await portal.server.load({
    clients: [{ client_id: id, client_secret: 's', accountId: `acc-${name}`, access: 'manage' }],
  });
  return { name, id };
};
/** In how many days the entry expires. */
const daysLeft = async (name: string): Promise<number> => {
  const { expires_at } = await portal.server
    .db('revocation')
    .where({ id: idOf(name) })
    .first();
  return (expires_at - Date.now()) / 86_400_000;
};
const setRole = (name: string, role: 'owner' | 'staff' | 'bookings-manager' | 'facility-manager') =>
  portal.server.db.raw('update membership set role = ? where account_id = ?', [role, `acc-${name}`]);

describe('GET /.well-known/revocations', () => {
  test('the list is a JWT that is signed with the key of access tokens, and expires after 60 s', async () => {
    const response = await fetchList();
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('max-age=5');
    expect(response.headers.get('content-type')).toContain('application/jwt');
    const jwt = await response.text();
    const token = await portal.server.token(patForm);
    const { kid, alg } = decodeProtectedHeader(String(token.access_token));
    expect(decodeProtectedHeader(jwt)).toEqual({ typ: 'revocations+jwt', alg, kid });
    const { iat = 0, exp, revoked, last } = decodeJwt(jwt);
    expect(exp).toBe(iat + 60);
    expect(revoked).toEqual(expect.any(Array));
    expect(last).toEqual(expect.any(Number));
  });

  test('the ETag is confirmed while nothing has changed, and changes with the next entry', async () => {
    // A copy is confirmed for at most 30 s, so that it has not expired. The first pair may lie around such a moment.
    const confirmed = await eventually(async () => {
      const etag = String((await fetchList()).headers.get('etag'));
      return (await fetchList(undefined, { 'If-None-Match': etag })).status === 304 && etag;
    });
    const { accessToken } = await addPerson();
    await asNative('/connect/revocation', { token: accessToken });
    expect((await fetchList(undefined, { 'If-None-Match': confirmed })).status).toBe(200);
  });

  test.each(['-1', 'x', '1.5', '1e3', ' 1'])('after=%j is invalid', async (after) => {
    const body = await statusAndBody(await fetchList(encodeURIComponent(after)));
    expect(body).toMatchObject({ status: 400, error: 'invalid_request' });
  });

  test('a response has at most 5000 entries, and following `last` finds all of them', async () => {
    const { last } = await readList();
    await portal.server.db.raw(
      `insert into revocation (id, before, expires_at) select 'page ' || n, 1, now() + interval '1 hour'
         from generate_series(1, 12000) n`,
    );
    const pages: List[] = [];
    for (let after = last; pages.at(-1)?.more ?? pages.length === 0; after = pages.at(-1)?.last ?? 0) {
      pages.push(await readList(after));
    }
    expect(pages.map(({ revoked }) => revoked.length)).toEqual([5000, 5000, 2000]);
    expect(new Set(pages.flatMap(({ revoked }) => revoked.map(({ id }) => id))).size).toBe(12_000);
    await portal.server.db.raw("update revocation set expires_at = now() where id like 'page %'");
    // Entries disappear when they have expired, but the last number does not go backwards.
    const { revoked, last: lastAfter } = await readList();
    expect(revoked.filter(({ before }) => before === 1)).toEqual([]);
    expect(lastAfter).toBe(pages.at(-1)?.last);
  });
});

describe('a right that ends has an entry', () => {
  test('the revocation of the access tokens of a grant: one entry for the grant', async () => {
    const { accessToken, refreshToken, token, grant } = await addPerson();
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const { access_token: second } = await statusAndBody(await asNative('/connect/token', form));
    const { last } = await readList();
    const revoke = async () => {
      for (const revoked of [accessToken, String(second), accessToken])
        await asNative('/connect/revocation', { token: revoked });
    };
    expect(await newEntries([token, grant], revoke)).toEqual([grant]);
    expect((await readList(last)).revoked).toHaveLength(1);
  });

  test('the revocation of an access token of client_credentials: the token alone, only by its client', async () => {
    const credentials = { client_id: patForm.client_id, client_secret: patForm.client_secret };
    const issued = await portal.server.token(patForm);
    const token = String(issued.access_token);
    const name = `token ${decodeJwt(token).jti}`;
    const byOther = () => asNative('/connect/revocation', { token });
    expect(await newEntries([name], byOther)).toEqual([]);
    const revoke = () => portal.server.post('/connect/revocation', { ...credentials, token });
    expect(await newEntries([name, `client ${credentials.client_id}`], revoke)).toEqual([name]);
  });

  test('the revocation of a refresh token, and its replay: the grant', async () => {
    const revoked = await addPerson();
    const revoke = () => asNative('/connect/revocation', { token: revoked.refreshToken });
    expect(await newEntries([revoked.grant], revoke)).toEqual([revoked.grant]);
    const replayed = await addPerson();
    const refresh = () =>
      asNative('/connect/token', { grant_type: 'refresh_token', refresh_token: replayed.refreshToken });
    expect(await newEntries([replayed.grant], refresh)).toEqual([]);
    await passSecondAfterUse(portal.server.db);
    expect(await newEntries([replayed.grant], refresh)).toEqual([replayed.grant]);
  });

  test('a user removes the access of an application, or changes the password: the grant', async () => {
    const removed = await addPerson();
    const { browser, page } = await portal.signIn(removed.name, '/account');
    const remove = () => browser.send(page, { client: 'demo-native' }, 'Remove access');
    expect(await newEntries([removed.grant], remove)).toEqual([removed.grant]);

    const changed = await addPerson();
    const { browser: other, page: account } = await portal.signIn(changed.name, '/account');
    const change = () => other.send(account, { password, newPassword: 'eight quiet harbours' }, 'Save the password');
    expect(await newEntries([changed.grant], change)).toEqual([changed.grant]);
  });

  test('an account is disabled: the account for 90 days, and its grants', async () => {
    const { id, name, grant } = await addPerson();
    const disable = () => portal.addAccounts(accountOf(name, {}, { disabled: true }));
    const access = `access ${id} fac-north`;
    expect(await newEntries([`account ${id}`, grant, access], disable)).toEqual([`account ${id}`, grant, access]);
    expect(await daysLeft(`account ${id}`)).toBeCloseTo(90, 1);
  });

  test('a personal access token is revoked, or has expired: the client', async () => {
    const { name, id } = await addToken();
    const { browser, page } = await portal.signIn(name, `/portal/tokens/${id}/revoke`);
    const revoke = () => browser.send(page, {}, { action: '/revoke' });
    expect(await newEntries([`client ${id}`], revoke)).toEqual([`client ${id}`]);

    const expiring = await addToken();
    const { last } = await readList();
    await portal.server.db('client').where({ id: expiring.id }).update({ expires_at: new Date() });
    const entry = idOf(`client ${expiring.id}`);
    await eventually(async () => (await readList(last)).revoked.some((revoked) => revoked.id === entry));
  });

  test('a role is taken away or reduced, in the portal or by an import: the access to the facility', async () => {
    const { name } = await addToken();
    const access = `access acc-${name} fac-north`;
    expect(await newEntries([access], () => setRole(name, 'bookings-manager'))).toEqual([access]);
    expect(await newEntries([access], () => setRole(name, 'facility-manager'))).toEqual([]);
    const { browser, page } = await portal.signIn('owner', `${north}/people/acc-${name}/revoke`);
    expect(await newEntries([access], () => browser.send(page, {}, { action: '/revoke' }))).toEqual([access]);

    const person = await addPerson();
    const role = `access ${person.id} fac-north`;
    const keep = () => portal.addAccounts(accountOf(person.name, { 'fac-north': 'owner' }));
    expect(await newEntries([role], keep)).toEqual([]);
    const demote = () => portal.addAccounts(accountOf(person.name, { 'fac-north': 'staff' }));
    expect(await newEntries([role], demote)).toEqual([role]);
    expect(await newEntries([role], () => portal.addAccounts(accountOf(person.name)))).toEqual([role]);
  });

  test('an import reduces a personal access token: the client, or its access to a facility', async () => {
    const { id, name } = await addToken();
    const load = (more: object) =>
      portal.server.load({ clients: [{ client_id: id, client_secret: 's', accountId: `acc-${name}`, ...more }] });
    expect(await newEntries([`client ${id}`], () => load({ access: 'write' }))).toEqual([`client ${id}`]);
    expect(await newEntries([`client ${id}`], () => load({ access: 'manage' }))).toEqual([]);
    const roles = { 'fac-north': 'facility-manager', 'fac-south': 'facility-manager' } as const;
    await portal.addAccounts(accountOf(name, roles, { kind: 'service' }));
    const [north, south] = [`client-access ${id} fac-north`, `client-access ${id} fac-south`];
    const narrow = (facilities: string[]) =>
      newEntries([`client ${id}`, north, south], () => load({ access: 'manage', facilities }));
    expect(await narrow(['fac-south'])).toEqual([north]);
    expect(await narrow(['fac-north', 'fac-south'])).toEqual([]);
    expect(await narrow(['fac-north'])).toEqual([south]);
  });

  test('a facility is disabled: one entry, which says so until the facility is enabled or deleted', async () => {
    const id = idOf('facility fac-closed');
    const { last } = await readList();
    const set = (disabled: boolean) =>
      portal.server.load({ facilities: [{ id: 'fac-closed', name: 'Closed', disabled }] });
    const entry = async () => (await readList(last)).revoked.filter((revoked) => revoked.id === id);
    await set(true);
    const [created] = await entry();
    expect(created).toEqual({ id, before: expect.any(Number), disabled: true });
    await set(false);
    expect(await entry()).toEqual([{ id, before: created?.before }]);
    await portal.addAccounts(accountOf('closer', { 'fac-closed': 'owner' }));
    const rights = ['facility fac-closed', 'access acc-closer fac-closed'];
    expect(await newEntries(rights, () => set(true))).toEqual(['facility fac-closed']);
    expect(await daysLeft('facility fac-closed')).toBe(Number.POSITIVE_INFINITY);
    await portal.server.db('membership').where({ facility_id: 'fac-closed' }).delete();
    await portal.server.db('facility').where({ id: 'fac-closed' }).delete();
    expect(await entry()).toEqual([{ id, before: expect.any(Number) }]);
    expect(await daysLeft('facility fac-closed')).toBeCloseTo(90, 1);
  });

  test('an import takes a scope, a grant type or a response type from a client: the client', async () => {
    const client = {
      client_id: 'narrowed',
      client_secret: 's',
      redirect_uris: ['https://app.example/callback'],
      grant_types: ['authorization_code', 'refresh_token', 'implicit'],
      response_types: ['code', 'token'],
      scope: `openid ${scopes.read} ${scopes.bookings}`,
    };
    const load = (more: object) => portal.server.load({ clients: [{ ...client, ...more }] });
    await load({});
    const entries = (more: object) => newEntries(['client narrowed'], () => load(more));
    const narrowings = [
      { scope: `openid ${scopes.read}` },
      { grant_types: ['authorization_code', 'implicit'] },
      { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
    ];
    for (const narrowing of narrowings) {
      expect(await entries(narrowing)).toEqual(['client narrowed']);
      expect(await entries({})).toEqual([]);
    }
    const equal = { scope: `${scopes.bookings} ${scopes.read} openid`, client_name: 'Other' };
    expect(await entries(equal)).toEqual([]);
  });

  test('a facility begins to require a second factor: the access of people without one', async () => {
    await portal.server.load({ facilities: [{ id: 'fac-strict', name: 'Strict' }] });
    await portal.addAccounts(
      accountOf('boss', { 'fac-strict': 'owner' }),
      accountOf('helper', { 'fac-strict': 'staff' }),
      accountOf('machine', { 'fac-strict': 'facility-manager' }, { kind: 'service' }),
    );
    const { browser } = await portal.signIn('boss', '/portal/facilities/fac-strict');
    await portal.setUpApp(browser);
    const names = ['boss', 'helper', 'machine'].map((name) => `access acc-${name} fac-strict`);
    const setRule = (requireSecondFactor: string[]) => () =>
      browser.submit('/portal/facilities/fac-strict', { requireSecondFactor }, { action: '/second-factor' });
    expect(await newEntries(names, setRule(['yes']))).toEqual(['access acc-helper fac-strict']);
    expect(await newEntries(names, setRule(['yes']))).toEqual([]);
    expect(await newEntries(names, setRule([]))).toEqual([]);
  });

  test('sign-out, and grants that have expired, add nothing', async () => {
    const { name, grant } = await addPerson();
    const { browser, page } = await portal.signIn(name, '/account');
    expect(await newEntries([grant], () => browser.send(page, {}, 'Sign out'))).toEqual([]);
    const grants = portal.server.db('oidc_artifact').where({ model: 'Grant' });
    await grants.clone().update({ expires_at: new Date(Date.now() - 7_200_000) });
    expect(await newEntries([grant], () => grants.delete())).toEqual([]);
  });
});

describe('the order of the entries', () => {
  const revokeIn = (db: Pick<Database, 'raw'>, id: string) =>
    db.raw('delete from membership where account_id = ?', [id]);

  test('an entry of a transaction that commits later comes after `last`', async () => {
    const [first, second] = [await addPerson(), await addPerson()];
    const { last } = await readList();
    const slow = await portal.server.db.transaction();
    await revokeIn(slow, first.id);
    await revokeIn(portal.server.db, second.id);
    const early = await readList(last);
    expect(early.revoked.map(({ id }) => id)).toEqual([idOf(`access ${second.id} fac-north`)]);
    await slow.commit();
    const late = await readList(early.last);
    expect(late.revoked.map(({ id }) => id)).toEqual([idOf(`access ${first.id} fac-north`)]);
  });
});
