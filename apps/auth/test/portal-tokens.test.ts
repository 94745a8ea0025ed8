// Tests how a service account creates, rotates and revokes personal access tokens. Such a token is a client_id and a
// client_secret for client_credentials (specification, "Bookings API access", steps 2 and 3).
// Owners and staff see and revoke the tokens of their facility.
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, fieldOf, type Page } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { eventually } from '@bay-booking/testkit/wait';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { patForm, scopes } from './auth-server.ts';
import { accountOf, facilitiesOf, north, password, startPortal, textById } from './portal-fixture.ts';

const portal = useFixture(() => startPortal());

/** Each test has its own service account. */
let name: string;
let accounts = 0;
beforeEach(async () => {
  name = `bot-${++accounts}`;
  await portal.addAccounts(accountOf(name, { 'fac-north': 'bookings-manager' }, { kind: 'service' }));
});

const activeTokens = async (): Promise<{ id: string; name: string; days: number }[]> => {
  const { rows } = await portal.server.db.raw(
    `select id, name, round(extract(epoch from expires_at - created_at) / 86400)::int as days from client
      where account_id = ? and disabled_at is null order by created_at`,
    [`acc-${name}`],
  );
  return rows;
};
const credentialsOn = (page: Page) => ({ id: textById(page, 'client-id'), secret: textById(page, 'client-secret') });
const create = async (browser: FormBrowser, page: Page, values: Record<string, string> = {}) =>
  browser.send(page, { name: 'Till', expiresInDays: '30', ...values }, { action: '/portal/tokens' });
/** Signs in as the service account of the test, and creates a token. */
const createToken = async (values: Record<string, string> = {}) => {
  const { browser, page } = await portal.signIn(name);
  const shown = await create(browser, page, values);
  return { browser, shown, ...credentialsOn(shown) };
};
const openPortal = (browser: FormBrowser) => browser.open('/portal');

describe('a service account creates a personal access token', () => {
  test('the new token has a client_id and a client_secret for client_credentials', async () => {
    const { browser, page } = await portal.signIn(name);
    expect(textOf(page.html)).toContain('North Range');
    expect(page.html).toContain('You have no active token.');
    const shown = await create(browser, page);
    expect(shown.status).toBe(200);
    expect(shown.headers.get('cache-control')).toBe('no-store');
    const { id, secret } = credentialsOn(shown);
    // 43 characters of base64url contain 256 bits.
    expect([id, secret]).toEqual([expect.stringMatching(/^[\w-]{43}$/), expect.stringMatching(/^bbs_[\w-]{43}$/)]);
    expect(await activeTokens()).toEqual([{ id, name: 'Till', days: 30 }]);
    const response = await portal.requestToken(id, secret);
    expect(response).toMatchObject({ status: 200, token_type: 'Bearer', expires_in: 3600 });
    expect(facilitiesOf(response)).toEqual(['fac-north']);
  });

  test('the service account sees its secret exactly once, and neither the database nor the log contains it', async () => {
    const { browser, shown, secret } = await createToken();
    expect(textOf(shown.html)).toContain("I've saved the secret");
    const { rows } = await portal.server.db.raw('select s::text as row from client_secret s');
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect((await openPortal(browser)).html).not.toContain(secret);
    expect((await browser.open('/portal/tokens')).html).not.toContain(secret);
    expect(portal.server.log.join('\n')).not.toContain(secret);
  });

  test('reloading the page with the secret shows no secret and creates no other token', async () => {
    const { browser, page } = await portal.signIn(name);
    // When a browser reloads the page, it sends the form again.
    const responses = await Promise.all(Array.from({ length: 3 }, () => create(browser, page)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const again = await create(browser, page);
    expect(again.status).toBe(409);
    expect(again.html).toContain('The secret was already shown');
    // `credentialsOn` returns an empty text if the page has no secret.
    expect(credentialsOn(again).secret).toBe('');
    expect(await activeTokens()).toHaveLength(1);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'Till\u0007' }, 'name'],
    [{ expiresInDays: '0' }, 'expiresInDays'],
    [{ expiresInDays: '366' }, 'expiresInDays'],
    [{ expiresInDays: '1.5' }, 'expiresInDays'],
    [{ expiresInDays: '1e2' }, 'expiresInDays'],
    [{ access: 'all' }, 'access'],
    // The account is nowhere Facility Manager.
    [{ access: 'manage' }, 'access'],
  ])('%j is rejected next to its field, and the form stays filled in', async (values, field) => {
    const { browser, page } = await portal.signIn(name);
    const rejected = await create(browser, page, values as Record<string, string>);
    expect(rejected.status).toBe(400);
    expect(rejected.html).toContain(`id="${field}-error"`);
    const typed = { name: 'Till', expiresInDays: '30', ...values };
    expect(fieldOf(rejected, 'name')).toBe(typed.name);
    expect(fieldOf(rejected, 'expiresInDays')).toBe(typed.expiresInDays);
    expect(await activeTokens()).toEqual([]);
    // The user can correct the same form and submit it again.
    expect((await create(browser, rejected)).status).toBe(200);
  });

  test('an account has at most 50 active tokens, even if several are created in parallel', async () => {
    await portal.server.db.raw(
      `insert into client (id, kind, account_id, name)
       select ? || '-' || n, 'personal-access-token', ?, 'n' || n from generate_series(1, 48) n`,
      [name, `acc-${name}`],
    );
    const { browser } = await portal.signIn(name);
    const pages = await Promise.all(Array.from({ length: 5 }, () => openPortal(browser)));
    const responses = await Promise.all(pages.map((page) => create(browser, page)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409, 409]);
    expect(await activeTokens()).toHaveLength(50);
    expect((await openPortal(browser)).html).toContain('An account can have up to 50 active tokens');
    await portal.server.db.raw('update client set expires_at = now() where id = ?', [`${name}-1`]);
    expect((await create(browser, await openPortal(browser))).status).toBe(200);
  });

  test('a service account without a facility cannot create a token', async () => {
    const { browser, page } = await portal.signIn(name);
    await portal.server.db.raw('delete from membership where account_id = ?', [`acc-${name}`]);
    expect((await create(browser, page)).status).toBe(409);
    const home = await openPortal(browser);
    expect(home.html).toContain('This account has no role at any facility');
    expect(home.forms.some(({ action }) => action.endsWith('/portal/tokens'))).toBe(false);
  });
});

describe('the facilities and the access of a new token', () => {
  /** Adds a service account with these roles, and opens its page. */
  const open = async (roles: Parameters<typeof accountOf>[1]) => {
    await portal.addAccounts(accountOf(name, roles, { kind: 'service' }));
    return portal.signIn(name);
  };
  const scopeOf = async (credentials: { id: string; secret: string }, ...requested: string[]) => {
    const response = await portal.requestToken(credentials.id, credentials.secret, requested.join(' '));
    return response.status === 200 ? facilitiesOf(response) : response.error;
  };
  /** The form as a browser sends it, with these facilities ticked. */
  const submit = (browser: FormBrowser, page: Page, values: Record<string, string | readonly string[]>) =>
    browser.send(page, { name: 'Till', expiresInDays: '30', ...values }, 'Create token');
  const both = { 'fac-north': 'facility-manager', 'fac-south': 'bookings-manager' } as const;

  test('the form offers each facility, ticked, and `manage` only to a Facility Manager', async () => {
    const { browser, page: manager } = await open(both);
    /** The values of the field, with a tick behind those that are chosen. */
    const choices = (page: Page, name: string) =>
      page.forms
        .flatMap(({ fields }) => fields)
        .filter((field) => field.name === name)
        .map(({ value, isChecked }) => (isChecked ? `${value} ✓` : value));
    expect(choices(manager, 'facility')).toEqual(['fac-north ✓', 'fac-south ✓']);
    expect(choices(manager, 'access')).toEqual(['read', 'write', 'manage']);
    for (const facility of [[], ['fac-else']]) {
      const rejected = await submit(browser, manager, { facility });
      expect([rejected.status, rejected.html]).toEqual([400, expect.stringContaining('id="facility-error"')]);
    }
    const { page } = await open({ 'fac-north': 'bookings-manager' });
    expect(choices(page, 'access')).toEqual(['read', 'write']);
  });

  test('a sign-in of 9 minutes ago is fresh; after 11 the user must sign in again, and the input is kept and shown', async () => {
    const { browser, page } = await open(both);
    await portal.ageSession(name, 9);
    expect((await submit(browser, page, { name: 'First' })).status).toBe(200);
    await portal.ageSession(name, 11);
    const values = { name: 'Till & “co”', expiresInDays: '77', facility: ['fac-south'], access: 'read' };
    const again = await submit(browser, await openPortal(browser), values);
    expect(again.title).toMatch(/^Confirm that it is you/);
    expect(await activeTokens()).toHaveLength(1);
    const form = await browser.send(again, { password });
    const shown = [form.url.pathname, fieldOf(form, 'name'), fieldOf(form, 'expiresInDays')];
    expect(shown).toEqual(['/portal', values.name, '77']);
    const credentials = credentialsOn(await browser.send(form, { name: values.name }, 'Create token'));
    expect((await activeTokens())[1]).toMatchObject({ name: values.name, days: 77 });
    const { html } = await openPortal(browser);
    expect(textOf(html)).toContain(`${credentials.id} Read South Range`);
    expect(await scopeOf(credentials, scopes.read)).toEqual(['fac-south']);
    expect(await scopeOf(credentials, scopes.bookings)).toBe('invalid_scope');
  });
});

test('an e-mail is sent 14 and 3 days before a token expires, each once, by two instances', async () => {
  const { id } = await createToken({ name: 'Till <b>', expiresInDays: '60' });
  const other = await portal.server.startInstance();
  const short = await createToken({ name: 'Short', expiresInDays: '2' });
  const expireIn = async (days: number) => {
    await portal.server.db.raw(
      `update client set expires_at = now() + make_interval(days => ?), created_at = now() - interval '60 days'
        where id = ?`,
      [days, id],
    );
    // What the periodic jobs of the instances do.
    await Promise.all([portal.server, other].map(({ auth }) => auth.remindOfExpiringTokens()));
  };
  const isOutboxEmpty = async () => !(await portal.server.db('outbox').where({ kind: 'mail' }).first());
  const mails = () => portal.smtp.mails().filter(({ to }) => to.includes(`${name}@range.example`));
  const counts: number[] = [];
  for (const days of [20, 13, 10, 3, 1]) {
    await expireIn(days);
    await eventually(isOutboxEmpty);
    counts.push(mails().length);
  }
  expect(counts).toEqual([0, 1, 1, 2, 2]);
  for (const { subject, text } of mails()) {
    expect(subject).toBe('A personal access token expires soon');
    expect(text).not.toContain('Till <b>');
    expect(text).not.toContain(short.id);
  }
});

test('a user with an older sign-in must sign in again to rotate a token', async () => {
  const { browser, id } = await createToken();
  const rotate = await browser.open(`/portal/tokens/${id}/rotate`);
  await portal.ageSession(name, 11);
  const again = await browser.send(rotate, { overlap: '0' }, { action: '/rotate' });
  expect(again.title).toMatch(/^Confirm that it is you/);
  const back = await browser.send(again, { password });
  expect(back.url.pathname).toBe(`/portal/tokens/${id}/rotate`);
});

test('the list of tokens shows name, creation, last use with its address, and expiry', async () => {
  const { browser, id, secret } = await createToken({ name: '<b>Till</b>' });
  expect(textOf((await openPortal(browser)).html)).toMatch(
    /Times are in UTC.*<b>Till<\/b> .*\d\d:\d\d never .*\d\d:\d\d Rotate.*Revoke/,
  );
  await portal.requestToken(id, secret);
  // The use of a token is stored after the response to the token request.
  const lastUse = portal.server.db('client').where({ id }).whereNotNull('last_used_at');
  const { last_used_at: at, last_used_from: address } = await eventually(() => lastUse.clone().first());
  expect(address).toBe('127.0.0.1');
  const used = await openPortal(browser);
  expect(textOf(used.html)).toContain('from 127.0.0.1');
  expect(used.html).toContain(`<time datetime="${at.toISOString()}"`);
  expect(textOf(used.html)).toContain('Within 15 seconds, the Bookings API also rejects');
});

describe('a service account revokes a token', () => {
  test('a page asks for confirmation, and then the next token request gets invalid_client', async () => {
    const { browser, id, secret } = await createToken();
    expect(await portal.requestToken(id, secret)).toMatchObject({ status: 200 });
    const confirm = await browser.open(`/portal/tokens/${id}/revoke`);
    expect(await activeTokens()).toHaveLength(1);
    const home = await browser.send(confirm, {}, { action: '/revoke' });
    expect(home.html).toContain('The token was revoked');
    expect(home.html).toContain('Revoked and expired (1)');
    expect(await portal.requestToken(id, secret)).toMatchObject({ status: 401, error: 'invalid_client' });
    expect((await browser.send(confirm, {}, { action: '/revoke' })).status).toBe(409);
    expect((await browser.open(`/portal/tokens/${id}/rotate`)).status).toBe(409);
  });

  test('a request with an expired token gets invalid_client', async () => {
    const { browser, id, secret } = await createToken();
    await portal.server.db('client').where({ id }).update({ expires_at: new Date() });
    expect(await portal.requestToken(id, secret)).toMatchObject({ status: 401, error: 'invalid_client' });
    expect((await openPortal(browser)).html).toContain('Revoked and expired (1)');
  });
});

describe('a service account rotates a token', () => {
  /** Creates a token and rotates it. The old secret still works for `overlap` seconds. */
  const rotate = async (overlap: string) => {
    const { browser, id, secret: oldSecret } = await createToken();
    const page = await browser.open(`/portal/tokens/${id}/rotate`);
    const send = () => browser.send(page, { overlap }, { action: '/rotate' });
    const shown = await send();
    return { browser, send, shown, id, oldSecret, newCredentials: credentialsOn(shown) };
  };

  test('the old secret still works for a day, and then only the new one', async () => {
    const { id, oldSecret, newCredentials, browser } = await rotate('86400');
    expect(newCredentials.id).toBe(id);
    expect(newCredentials.secret).not.toBe(oldSecret);
    expect(await portal.requestToken(id, oldSecret)).toMatchObject({ status: 200 });
    expect(await portal.requestToken(id, newCredentials.secret)).toMatchObject({ status: 200 });
    expect((await openPortal(browser)).html).toContain('2 valid secrets');
    const dayLater = `update client_secret set expires_at = expires_at - interval '1 day' where client_id = ?`;
    await portal.server.db.raw(dayLater, [id]);
    expect(await portal.requestToken(id, oldSecret)).toMatchObject({ status: 401 });
    expect(await portal.requestToken(id, newCredentials.secret)).toMatchObject({ status: 200 });
  });

  test('the lifetime begins anew with as many days, and so do the reminders', async () => {
    const { browser, id } = await createToken({ expiresInDays: '30' });
    await portal.server.db.raw(
      `update client set created_at = created_at - interval '28 days', expires_at = expires_at - interval '28 days',
              expiry_reminder = 3 where id = ?`,
      [id],
    );
    for (const round of [1, 2]) {
      const page = await browser.open(`/portal/tokens/${id}/rotate`);
      expect(textOf(page.html)).toContain('The lifetime of the token begins anew');
      await browser.send(page, { overlap: '0' }, { action: '/rotate' });
      const { expires_at, expiry_reminder } = await portal.server.db('client').where({ id }).first();
      const days = (expires_at - Date.now()) / 86_400_000;
      expect([round, days, expiry_reminder]).toEqual([round, expect.closeTo(30, 1), null]);
    }
    const last = new Date('9999-12-31T23:59:59Z');
    const token = portal.server.db('client').where({ id });
    await token.clone().update({ expires_at: last });
    await browser.submit(`/portal/tokens/${id}/rotate`, { overlap: '0' });
    expect(await token.first('expires_at')).toEqual({ expires_at: last });
  });

  test('with an overlap of 0, the old secret stops working, and a reload shows and creates no other one', async () => {
    const { send, id, oldSecret, newCredentials } = await rotate('0');
    expect(await portal.requestToken(id, oldSecret)).toMatchObject({ status: 401, error: 'invalid_client' });
    const again = await send();
    expect(again.status).toBe(409);
    expect(again.html).not.toContain(newCredentials.secret);
    expect(await portal.requestToken(id, newCredentials.secret)).toMatchObject({ status: 200 });
  });

  test.each(['', '1', '-1', '99999999'])(
    'the overlap %j is rejected, and the old secret keeps working',
    async (overlap) => {
      const { id, oldSecret, shown } = await rotate(overlap);
      expect(shown.status).toBe(400);
      expect(await portal.requestToken(id, oldSecret)).toMatchObject({ status: 200 });
    },
  );
});

describe('the token of another account', () => {
  test.each(['rotate', 'revoke'])('the page %s returns 404 for the token, and the token still works', async (page) => {
    const { id, secret } = await createToken();
    // `bot` is another service account, which belongs to the fixture.
    const other = await portal.signIn('bot');
    const path = `/portal/tokens/${id}/${page}`;
    expect((await other.browser.open(path)).status).toBe(404);
    // The other account has a valid CSRF token, and sends a form that none of its pages has.
    const form = { csrf: fieldOf(other.page, 'csrf') ?? '', overlap: '0' };
    expect((await other.browser.post(path, form)).status).toBe(404);
    expect(await portal.requestToken(id, secret)).toMatchObject({ status: 200 });
  });

  test('the page revoke also returns 404 for a client that is not a personal access token', async () => {
    const { browser } = await portal.signIn(name);
    expect((await browser.open('/portal/tokens/demo-web/revoke')).status).toBe(404);
  });
});

describe('owners and staff see and revoke the tokens of the service accounts of their facility', () => {
  const northTokens = `${north}/tokens`;
  const secret = { client_secret: 's' };
  const tokenOf = (client_id: string) => ({ ...secret, client_id, accountId: 'acc-bot', name: `Till ${client_id}` });
  const tokenStatus = async (client_id: string) =>
    (await portal.server.post('/connect/token', { ...patForm, ...secret, client_id })).status;

  test.each(['owner', 'staff'])('%s sees the tokens of the facility and revokes one', async (role) => {
    const id = `pat-${role}`;
    const other = { ...tokenOf('pat-south'), accountId: 'acc-south-bot', name: 'Till of the south' };
    await portal.server.load({ clients: [tokenOf(id), other] });
    expect(await tokenStatus(id)).toBe(200);
    const { browser, page } = await portal.signIn(role, northTokens);
    expect(page.status).toBe(200);
    expect(page.html).toContain(`Till ${id}`);
    expect(page.html).not.toContain('Till of the south');
    expect((await browser.open(`${northTokens}/pat-south/revoke`)).status).toBe(404);
    const done = await browser.submit(`${northTokens}/${id}/revoke`, {}, 'Revoke the token');
    expect(done.html).toContain('The token was revoked');
    expect(done.html).not.toContain(`Till ${id}`);
    expect(await tokenStatus(id)).toBe(401);
    const history = await browser.open(`${north}/history`);
    expect(history.html).toContain(`revoked the personal access token “Till ${id}”`);
  });

  test.each([
    ['the named', { facilities: ['fac-north', 'fac-south'] }],
    ['all', {}],
  ])(
    'a token of %s facilities loses the one where it is revoked, and the other one sees nobody',
    async (_name, named) => {
      const roles = { 'fac-north': 'bookings-manager', 'fac-south': 'bookings-manager' } as const;
      await portal.addAccounts(accountOf('both-bot', roles, { kind: 'service' }));
      const token = { ...secret, client_id: 'pat-both', accountId: 'acc-both-bot', name: 'Till', disabled: false };
      await portal.server.load({ clients: [{ ...token, ...named }] });
      const revokeAt = async (name: string, path: string, button: string) => {
        const { browser } = await portal.signIn(name, path);
        const confirmation = await browser.open(`${path}/tokens/pat-both/revoke`);
        return { confirmation, done: await browser.send(confirmation, {}, button) };
      };
      const { confirmation, done } = await revokeAt('owner', north, 'Revoke the token for North Range');
      expect(confirmation.html).toContain('The token stays valid at its other facilities.');
      expect(done.html).toContain('stays valid at its others');
      expect(done.html).not.toContain('pat-both');
      expect(facilitiesOf(await portal.requestToken('pat-both', 's'))).toEqual(['fac-south']);

      const south = '/portal/facilities/fac-south';
      await revokeAt('southerner', south, 'Revoke the token');
      expect(await tokenStatus('pat-both')).toBe(401);
      const historyAt = async (name: string, path: string) => (await portal.signIn(name, `${path}/history`)).page.html;
      expect(await historyAt('owner', north)).toContain('revoked the personal access token “Till” for this facility');
      expect(await historyAt('owner', north)).not.toContain('Name of southerner');
      expect(await historyAt('southerner', south)).not.toContain('Name of owner');
      await portal.server.load({ accounts: [accountOf('both-bot', {}, { kind: 'service' })] });
      await portal.server.db.raw("delete from client where id = 'pat-both'");
    },
  );
});
