// Tests the pages that export and delete an account, and that nothing in the database names a deleted person.
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { eventually } from '@bay-booking/testkit/wait';
import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { scopes } from './auth-server.ts';
import { authorizeUrl, passwordTokens, refreshTokens, webCallback } from './flows.ts';
import { accountOf, north, password, startPortal } from './portal-fixture.ts';

const portal = useFixture(() => startPortal());

const deletePath = '/account/delete';
const confirmDeletion = (browser: FormBrowser) => browser.submit(deletePath, {}, { action: deletePath });

/** Returns `TABLE: ROW` of every row of every table that contains one of the texts, without regard to case. */
const findEverywhere = async (...texts: string[]): Promise<readonly string[]> => {
  const { rows: tables } = await portal.server.db.raw(
    "select table_name as name from information_schema.tables where table_schema = 'public'",
  );
  const found = await Promise.all(
    tables.map(async ({ name }: { name: string }) => {
      const { rows } = await portal.server.db.raw(`select t::text as row from ${name} t`);
      return rows
        .filter(({ row }: { row: string }) => texts.some((text) => row.toLowerCase().includes(text.toLowerCase())))
        .map(({ row }: { row: string }) => `${name}: ${row}`);
    }),
  );
  return found.flat();
};
const signInAs = (username: string) =>
  passwordTokens(portal.server, { username, password }, `${scopes.bookings} offline_access`);

test('nothing in the database names a person after the deletion, and nothing of the person works any more', async () => {
  const [name, newName, email] = ['Wilhelmina Vanderberg', 'Minnie Vanderberg', 'wilhelmina@range.example'];
  // The person is invited, accepts with a new account, works as staff, and is then an owner.
  const { browser: owner, page } = await portal.signIn('owner', north);
  await owner.send(page, { email, role: 'staff' }, { action: '/invitations' });
  const browser = portal.openBrowser();
  await browser.submit(await portal.invitationLink(email), { name, password });
  const { id } = await portal.server.db('account').where({ username: email }).first('id');
  await owner.submit(`${north}/people/${id}/role`, { role: 'owner' });
  await browser.submit('/account', { name: newName }, 'Save the name');
  // The person invites somebody, whose e-mail waits in the outbox because the mail server is busy.
  portal.smtp.rejectWith(451);
  await browser.submit(north, { email: 'friend@range.example', role: 'staff' }, { action: '/invitations' });
  await owner.submit(north, { email: 'guest@range.example', role: 'staff' }, { action: '/invitations' });
  // A sign-in that has not ended, with the address of the person.
  const request = { response_type: 'code', client_id: 'demo-web', redirect_uri: webCallback, scope: scopes.play };
  await portal.openBrowser().open(authorizeUrl(portal.server, { ...request, login_hint: email }));
  const tokens = await signInAs(email);
  await portal.server.auth.waitUntilIdle();
  expect((await findEverywhere(name, newName, email)).length).toBeGreaterThan(5);

  portal.smtp.acceptAgain();
  const done = await confirmDeletion(browser);
  expect(done.status).toBe(200);
  expect(textOf(done.html)).toContain('Your account was deleted');
  // The e-mail for the other guest still waits.
  expect((await findEverywhere('guest@range.example')).some((row) => row.startsWith('outbox:'))).toBe(true);
  // The e-mails about the deletion name the person until they are sent.
  const toOwner = await portal.smtp.mailTo('partner@range.example', ({ subject }) => subject.includes('deleted'));
  expect(toOwner.text).toMatch(
    /North Range, \d+ \w+ \d{4}, \d\d:\d\d UTC: Minnie Vanderberg \(wilhelmina@range\.example\) left, and was Owner/,
  );
  await portal.smtp.mailTo(email, ({ subject }) => subject === 'Your account was deleted');
  await eventually(() => portal.server.db('audit_event').where({ kind: 'account.deleted' }).first());
  await eventually(async () => (await findEverywhere(name, newName, email, 'Vanderberg', 'wilhelmina')).length === 0);
  // The events stay, without an address of the person.
  const events = await portal.server.db('audit_event').where({ account_id: id });
  expect(events.length).toBeGreaterThan(3);
  expect(events.every(({ address }) => address === null)).toBe(true);

  expect((await signInAs(email)).status).toBe(400);
  expect(await refreshTokens(portal.server, tokens)).toMatchObject({ status: 400 });
  expect((await browser.open('/account')).url.pathname).toBe('/sign-in');
  const list = decodeJwt(await (await fetch(portal.at('/.well-known/revocations'))).text());
  const ids = (list.revoked as { id: string }[]).map((entry) => entry.id);
  const { grant_id } = decodeJwt(String(tokens.access_token));
  for (const ended of [`account ${id}`, `grant ${grant_id}`, `access ${id} fac-north`]) {
    expect(ids).toContain(hash('sha256', ended, 'base64url'));
  }
  // The history shows what the person did, and that the person left, under a pseudonym.
  const text = textOf((await owner.open(`${north}/history`)).html);
  expect(text).toContain('Former member 1 left, and was Owner until then: the account was deleted.');
  expect(text).toContain('Former member 1 invited friend@range.example as Staff.');
  expect(text).toContain('Name of owner changed the role of Former member 1 from Staff to Owner.');
});

test('the address can be used again, but its account has another id, and an import cannot bring the id back', async () => {
  const username = 'again@range.example';
  const account = accountOf('again', { 'fac-north': 'bookings-manager' }, { kind: 'service' });
  const client = { client_id: 'pat-again', client_secret: 's', accountId: account.id };
  await portal.server.load({ accounts: [account], clients: [client] });
  const { browser } = await portal.signIn('again');
  await confirmDeletion(browser);
  await portal.server.load({ accounts: [account], clients: [client] });
  const accounts = portal.server.db('account').where({ username }).select('id');
  expect(await accounts.clone()).toEqual([]);
  expect(await portal.requestToken('pat-again', 's')).toMatchObject({ status: 401 });

  const other = portal.openBrowser();
  await other.submit('/register', { name: 'Somebody Else', username, password: 'eight quiet harbours' });
  expect(await accounts).toEqual([{ id: expect.not.stringMatching(account.id) }]);
  // The file still works, although its user name now belongs to somebody else.
  await portal.server.load({ accounts: [account] });
});

test('the only owner of a facility cannot delete the account, also if two owners do it at the same time', async () => {
  await portal.server.load({ facilities: [{ id: 'fac-two', name: 'Range Two' }] });
  await portal.addAccounts(accountOf('one', { 'fac-two': 'owner' }), accountOf('two', { 'fac-two': 'owner' }));
  const browsers = await Promise.all(['one', 'two'].map(async (name) => (await portal.signIn(name)).browser));
  const results = await Promise.all(browsers.map(confirmDeletion));
  expect(results.map(({ status }) => status).sort()).toEqual([200, 409]);
  const loser = results.findIndex(({ status }) => status === 409);
  expect(textOf(results[loser]?.html ?? '')).toContain('You are the last owner of Range Two');
  // The page says so before the button.
  const page = await (browsers[loser] as FormBrowser).open('/account/delete');
  expect(page.status).toBe(409);
  expect(textOf(page.html)).toContain('Make somebody else an owner before you delete your account.');
  expect(page.forms.some(({ action }) => action.endsWith('/account/delete'))).toBe(false);
  expect(await portal.server.db('membership').where({ facility_id: 'fac-two' })).toHaveLength(1);
});

test('the audit trail of an account that exists cannot be erased', async () => {
  const erase = portal.server.db.raw("select erase_audit_events('acc-owner')");
  await expect(erase).rejects.toThrow('the account acc-owner was not deleted');
});

test('both pages need a fresh sign-in', async () => {
  await portal.addAccounts(accountOf('stale'));
  const { browser } = await portal.signIn('stale');
  const form = await browser.open(deletePath);
  await portal.ageSession('stale', 11);
  for (const path of ['/account/export', deletePath])
    expect((await browser.open(path)).title).toMatch(/^Confirm that it is you/);
  expect((await browser.send(form, {}, { action: deletePath })).title).toMatch(/^Confirm that it is you/);
  expect((await signInAs('stale@range.example')).status).toBe(200);
});

test('the export contains what is stored about the account, and no secret', async () => {
  const account = accountOf('exporter', { 'fac-north': 'bookings-manager' }, { kind: 'service', name: 'Ex Porter' });
  const client = { client_id: 'pat-export', client_secret: 'secret-of-export', accountId: account.id, name: 'Till' };
  await portal.server.load({ accounts: [account], clients: [client] });
  await signInAs(account.username);
  const { browser } = await portal.signIn('exporter');
  const page = await browser.open('/account/export');
  expect(page.headers.get('content-type')).toContain('application/json');
  expect(page.headers.get('content-disposition')).toContain('attachment');
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(JSON.parse(page.html)).toMatchObject({
    account: { id: account.id, username: account.username, name: 'Ex Porter', kind: 'service' },
    memberships: [{ facilityId: 'fac-north', role: 'bookings-manager' }],
    personalAccessTokens: [{ clientId: 'pat-export', name: 'Till', access: 'write' }],
    sessions: [{ address: '127.0.0.1' }],
    events: expect.arrayContaining([expect.objectContaining({ kind: 'token.issued' })]),
  });
  for (const secret of ['secret-of-export', '$argon2']) expect(page.html).not.toContain(secret);
});

test('an unconfirmed account cannot delete the invitations to the address that it was registered with', async () => {
  const { browser: owner, page } = await portal.signIn('owner', north);
  const email = 'victim@range.example';
  await owner.send(page, { email, role: 'staff' }, { action: '/invitations' });
  await portal.addAccounts(accountOf('victim', {}, { email, emailVerified: false }));
  const { browser } = await portal.signIn('victim');
  await confirmDeletion(browser);
  expect((await owner.open(north)).html).toContain(email);
});

test('the command deletes an account by its id, and is refused for the last owner', async () => {
  await portal.addAccounts(accountOf('by-command'));
  await portal.server.load({ facilities: [{ id: 'fac-solo', name: 'Solo' }] });
  await portal.addAccounts(accountOf('solo', { 'fac-solo': 'owner' }));
  const run = (id: string) =>
    promisify(execFile)(process.execPath, ['src/commands/delete-account.ts', id], {
      env: { ...process.env, DATABASE_URL: portal.server.databaseUrl },
    });
  expect((await run('acc-by-command')).stdout).toBe('deleted acc-by-command\n');
  expect(await findEverywhere('by-command@range.example')).toEqual([]);
  await expect(run('acc-by-command')).rejects.toThrow('there is no account acc-by-command');
  await expect(run('acc-solo')).rejects.toThrow('the account is the last owner of Solo');
});
