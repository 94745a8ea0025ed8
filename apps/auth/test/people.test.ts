// Tests the names of a facility's people and clients, which programs and pages look up (docs/behaviour-auth.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import { eventually } from '@bay-booking/testkit/wait';
import { expect, test } from '@jest/globals';
import { patForm, scopes } from './auth-server.ts';
import { authorize, exchangeCode, webCallback, webRequest } from './flows.ts';
import { createKeyClient } from './key-client.ts';
import { accountOf, north, password, startPortal } from './portal-fixture.ts';

const portal = useFixture(startPortal);
const demoPat = 'demo-pat-north';
const patOf = (id: string, account: string, more = {}) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  accountId: `acc-${account}`,
  name: `Name of ${id}`,
  ...more,
});
const tokenOf = async (id = demoPat, scope = scopes.read, headers: Record<string, string> = {}) => {
  const form = { ...patForm, client_id: id, client_secret: `${id}-secret`, scope };
  return String((await portal.server.token(form, headers)).access_token);
};
const people = (token: string, headers: Record<string, string> = {}, facility = 'fac-north') =>
  fetch(portal.at(`/facilities/${facility}/people`), { headers: { Authorization: `Bearer ${token}`, ...headers } });
type Lists = Record<'people' | 'clients', Record<string, unknown>[]>;
const names = async () => {
  const body = (await (await people(await tokenOf())).json()) as Lists;
  return {
    person: (name: string) => body.people.find(({ subject }) => subject === `acc-${name}`),
    client: (id: string) => body.clients.find(({ clientId }) => clientId === id),
  };
};
/** Signs the user in at an application. Returns an access token. */
const signInAt = async (client: string, name: string, scope: string) => {
  const user = { username: `${name}@range.example`, password };
  const { code } = await authorize(portal.server, { ...webRequest, client_id: client, scope }, { user });
  const credentials = { client_id: client, client_secret: `${client}-secret` };
  return String((await exchangeCode(portal.server, code, credentials)).access_token);
};

test('a token of the facility gets the names of its members, service accounts, tokens and applications', async () => {
  const app = { client_secret: 'app-secret', redirect_uris: [webCallback], scope: `openid ${scopes.schedule}` };
  await portal.server.load({
    accounts: [accountOf('nameless', { 'fac-north': 'staff' })],
    clients: [
      patOf('pat-till', 'bot', { disabled: true }),
      patOf('pat-far', 'south-bot'),
      { ...app, client_id: 'app', client_name: '<b>Sheet</b>' },
      { ...app, client_id: 'app-of-others', client_name: 'Of others' },
    ],
  });
  const token = await signInAt('app', 'staff', scopes.schedule);
  await signInAt('app-of-others', 'southerner', scopes.schedule);
  const response = await people(token);
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('private, max-age=60');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const body = (await response.json()) as Lists;
  expect(body.people).toEqual(
    expect.arrayContaining([
      { subject: 'acc-owner', name: 'Name of owner', kind: 'user', role: 'owner', former: false },
      { subject: 'acc-nameless', name: 'nameless@range.example', kind: 'user', role: 'staff', former: false },
      { subject: 'acc-bot', name: 'Name of bot', kind: 'service', role: 'bookings-manager', former: false },
    ]),
  );
  expect(body.clients).toEqual(
    expect.arrayContaining([
      { clientId: 'pat-till', name: 'Name of pat-till', subject: 'acc-bot' },
      { clientId: 'app', name: '<b>Sheet</b>', subject: null },
    ]),
  );
  for (const hidden of ['southerner', 'pat-far', 'app-of-others', 'acc-nobody', 'South'])
    expect(JSON.stringify(body)).not.toContain(hidden);

  const etag = String(response.headers.get('etag'));
  expect((await people(token, { 'If-None-Match': etag })).status).toBe(304);
  await portal.addAccounts(accountOf('newcomer', { 'fac-north': 'staff' }));
  expect((await people(token, { 'If-None-Match': etag })).status).toBe(200);
});

test('everybody who left stays with their tokens, a deleted account as Former member N, and nothing that they do later', async () => {
  const roles = { 'fac-north': 'bookings-manager', 'fac-south': 'bookings-manager' } as const;
  await portal.addAccounts(
    accountOf('leaver', { 'fac-north': 'staff' }),
    accountOf('mover', roles, { kind: 'service' }),
    accountOf('never', { 'fac-south': 'staff' }),
  );
  const both = ['fac-north', 'fac-south'];
  await portal.server.load({ clients: [patOf('pat-kept', 'mover'), patOf('pat-both', 'mover', { facilities: both })] });
  const { browser, page } = await portal.signIn('owner', `${north}/tokens/pat-both/revoke`);
  await browser.send(page, {}, { action: '/revoke' });
  await portal.addAccounts(accountOf('mover', { 'fac-south': 'bookings-manager' }, { kind: 'service' }));
  await portal.server.load({ clients: [patOf('pat-later', 'mover')] });
  const mover = { subject: 'acc-mover', name: 'mover@range.example', kind: 'service', role: null, former: true };
  const after = await names();
  expect(after.person('mover')).toEqual(mover);
  expect(after.client('pat-kept')).toMatchObject({ subject: 'acc-mover' });
  expect(after.client('pat-both')).toMatchObject({ name: 'Name of pat-both' });
  expect(after.client('pat-later')).toBeUndefined();
  // Somebody who is back is a member again.
  await portal.addAccounts(accountOf('mover', roles, { kind: 'service' }));
  expect((await names()).person('mover')).toMatchObject({ role: 'bookings-manager', former: false });

  for (const name of ['leaver', 'mover']) {
    const { browser: leaver } = await portal.signIn(name);
    await leaver.submit('/account/delete', {}, 'Delete the account');
  }
  const { person, client } = await names();
  expect(client('pat-kept')).toEqual({ clientId: 'pat-kept', name: 'Name of pat-kept', subject: 'acc-mover' });
  expect(person('mover')?.name).toMatch(/^Former member \d+$/);
  const { name, ...others } = person('leaver') ?? {};
  expect(name).toMatch(/^Former member \d+$/);
  expect(others).toEqual({ subject: 'acc-leaver', kind: 'user', role: null, former: true });
  expect(person('never')).toBeUndefined();
  expect((await names()).person('leaver')).toMatchObject({ name });
});

test('each list has at most 2000 entries: members, who left last, and the newest tokens', async () => {
  await portal.server.db.raw(`
    insert into deleted_account (id) select 'acc-old-' || n from generate_series(1, 2001) n;
    insert into former_member (facility_id, account_id, role, left_at)
    select 'fac-south', 'acc-old-' || n, 'staff', now() - make_interval(mins => n) from generate_series(1, 2001) n;
    insert into deleted_token (account_id, id, name, created_at)
    select 'acc-south-bot', 'pat-old-' || n, 'Old', now() - make_interval(mins => n) from generate_series(1, 2001) n`);
  await portal.server.load({ clients: [patOf('pat-south', 'south-bot')] });
  const south = await tokenOf('pat-south');
  const found = (await (await people(south, {}, 'fac-south')).json()) as Lists;
  expect([found.people.length, found.clients.length]).toEqual([2000, 2000]);
  const text = JSON.stringify(found);
  for (const id of ['acc-southerner', 'acc-old-1', 'pat-south', 'pat-old-1']) expect(text).toContain(`"${id}"`);
  expect(text).not.toMatch(/-old-2001/);
});

test('a token that does not name the facility gets 404, an invalid or revoked one 401', async () => {
  const pat = await tokenOf();
  for (const facility of ['fac-south', 'fac-none', '__proto__', '%00', '%E0%A4%A'])
    expect([400, 404]).toContain((await people(pat, {}, facility)).status);
  const errors: [string, string, number][] = [
    ['no facilities', await signInAt('demo-web', 'owner', `openid ${scopes.play}`), 404],
    ['an opaque token', await signInAt('demo-web', 'owner', 'openid'), 404],
    ['no member', await signInAt('demo-web', 'nobody', scopes.bookings), 404],
    ['made up', 'a.b.c', 401],
    ['opaque and made up', 'abc', 401],
  ];
  for (const [title, token, status] of errors) expect([title, (await people(token)).status]).toEqual([title, status]);
  const without = await fetch(portal.at('/facilities/fac-north/people'));
  expect(without.headers.get('www-authenticate')).toMatch(/^Bearer realm/);
  const posted = await fetch(portal.at('/facilities/fac-north/people'), { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);

  await portal.addAccounts(accountOf('fired', { 'fac-north': 'staff' }));
  const fired = await signInAt('demo-web', 'fired', scopes.read);
  expect((await people(fired)).status).toBe(200);
  await portal.addAccounts(accountOf('fired', {}));
  expect((await people(fired)).status).toBe(401);
  await portal.server.load({ facilities: [{ id: 'fac-north', name: 'North Range', disabled: true }] });
  expect((await people(pat)).status).toBe(401);
  await portal.server.load({ facilities: [{ id: 'fac-north', name: 'North Range', disabled: false }] });
  // Tokens of the second in which the facility was disabled stay rejected.
  await eventually(async () => (await people(await tokenOf())).status === 200);
});

test('a bound token needs a proof for this address', async () => {
  const key = await createKeyClient('demo-native', portal.server.origin);
  const token = await tokenOf(demoPat, scopes.read, { DPoP: await key.proof(portal.at('/connect/token')) });
  expect((await people(token)).status).toBe(401);
  const request = async (url: string) => ({
    Authorization: `DPoP ${token}`,
    DPoP: await key.proof(url, { method: 'GET', accessToken: token }),
  });
  expect((await people(token, await request(portal.at('/connect/userinfo')))).status).toBe(401);
  expect((await people(token, await request(portal.at('/facilities/fac-north/people')))).status).toBe(200);
});
