// Tests how owners and staff of a facility invite service accounts and people (specification, "Bookings API access",
// step 1).

import { createHash } from 'node:crypto';
import { useFixture } from '@bay-booking/testkit/fixture';
import { fieldOf, linkTo } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { describe, expect, test } from '@jest/globals';
import { accountOf, north, password, startPortal } from './portal-fixture.ts';

// Accounts of the fixture: at North Range (fac-north), the account `owner` has the role owner, and `staff` has the role
// staff. At South Range (fac-south), `southerner` has the role staff. `chain` has the role owner at both, and `nobody`
// has no role. `bot` (North Range) and `south-bot` (South Range) are service accounts. The user names end with
// @range.example.
const portal = useFixture(() => startPortal());

/** Signs in as `by`, and invites the address to North Range. Returns the browser and the page that follows. */
const invite = async (email: string, { by = 'owner', role = 'bookings-manager' } = {}) => {
  const { browser, page } = await portal.signIn(by, north);
  const sent = await browser.send(page, { email, role }, { action: '/invitations' });
  return { browser, page: sent };
};
const openInvitation = async (email: string, options: { by?: string; role?: string } = {}) => {
  await invite(email, options);
  const browser = portal.openBrowser();
  const link = await portal.invitationLink(email);
  return { browser, link, page: await browser.open(link) };
};
const invitationId = async (email: string): Promise<string> =>
  (await portal.server.db('invitation').where({ email }).first('id'))?.id;
/** Returns each role of the account as one text: the facility, the role and the kind of the account. */
const rolesOf = async (username: string) => {
  const { rows } = await portal.server.db.raw<{ rows: { facility_id: string; role: string; kind: string }[] }>(
    `select m.facility_id, m.role, a.kind from account a join membership m on m.account_id = a.id
      where lower(a.username) = lower(?) order by 1`,
    [username],
  );
  return rows.map(({ facility_id, role, kind }) => `${facility_id} ${role} ${kind}`);
};
/** The fields with which an invited user creates an account. */
const newcomer = { name: 'Booking site', password: 'seven unusual lamps' };

describe('a facility owner or authorized staff invites a service account with the Bookings Manager role', () => {
  test.each([
    ['owner', 'facility-manager', 'Facility Manager'],
    ['staff', 'bookings-manager', 'Bookings Manager'],
  ])('the %s invites a service account as %s, which is welcomed once', async (by, role, title) => {
    const email = `${role}-of-${by}@range.example`;
    const { browser: inviter, page } = await invite(email, { by, role });
    expect(page.status).toBe(200);
    expect(page.html).toContain('The invitation is on its way');
    expect(textOf(page.html)).toContain(`${email} ${title}`);

    const browser = portal.openBrowser();
    const form = await browser.open(await portal.invitationLink(email));
    expect(form.status).toBe(200);
    expect(form.headers.get('cache-control')).toBe('no-store');
    expect(textOf(form.html)).toMatch(new RegExp(`North Range.*as ${title}`));
    const home = await browser.send(form, newcomer, { action: '/portal/invitation' });
    expect(home.url.pathname).toBe('/portal');
    expect(textOf(home.html)).toContain(`Welcome to North Range. Your role is ${title}.`);
    // The home page has the form that creates a personal access token. Only this form has the field
    // `expiresInDays`.
    expect(home.forms.some(({ fields }) => fields.some(({ name }) => name === 'expiresInDays'))).toBe(true);
    expect((await browser.open('/portal')).html).not.toContain('Welcome');
    expect(await rolesOf(email)).toEqual([`fac-north ${role} service`]);
    const account = await portal.server.db('account').where({ username: email }).first('id', 'email_verified', 'roles');
    // The column `roles` contains roles that do not belong to a facility. An invitation gives no such role.
    expect(account).toEqual({ id: expect.any(String), email_verified: true, roles: [] });
    // The list of members shows the role, which owners and staff may revoke.
    const people = await inviter.open(north);
    expect(textOf(people.html)).toContain(`${email} ${title} none yet`);
    expect(people.html).toContain(`/people/${account.id}/revoke`);
  });

  test('a form without a role invites a Bookings Manager, and the page of an owner has chosen Staff', async () => {
    const chosen = async (by: string) => {
      const { browser, page } = await portal.signIn(by, north);
      const form = page.forms.find(({ action }) => action.endsWith('/invitations'));
      const role = form?.fields.find(({ name, isChecked }) => name === 'role' && isChecked)?.value;
      return { browser, page, role };
    };
    const { browser, page, role } = await chosen('owner');
    expect([role, (await chosen('staff')).role]).toEqual(['staff', 'bookings-manager']);
    for (const text of ['Can book, move and cancel on the day sheet', 'For programs, such as a till'])
      expect(textOf(page.html)).toContain(text);
    await browser.post(`${north}/invitations`, { csrf: fieldOf(page, 'csrf') ?? '', email: 'plain@range.example' });
    const link = await portal.invitationLink('plain@range.example');
    expect(textOf((await browser.open(link)).html)).toContain('as Bookings Manager . For programs, such as a till');
  });

  test('the e-mail names the facility, and says that the link works once and when it expires', async () => {
    const { page } = await invite('mailed@range.example');
    expect(textOf(page.html)).toContain('It works once and expires after seven days.');
    const mail = await portal.smtp.mailTo('mailed@range.example');
    expect(mail.subject).toBe('Connect your software to North Range');
    expect(mail.text).toMatch(/The link works once and expires on \d+ \w+ \d{4}, \d\d:\d\d UTC\./);
  });

  test('only the SHA-256 of the token in the link is stored, and no log line contains the token', async () => {
    const { link } = await openInvitation('hashed@range.example');
    const token = new URL(link).searchParams.get('token') as string;
    const { rows } = await portal.server.db.raw('select i::text as row from invitation i');
    expect(JSON.stringify(rows)).toContain(createHash('sha256').update(token).digest('base64url'));
    expect(JSON.stringify(rows)).not.toContain(token);
    expect(portal.server.log.join('\n')).not.toContain(token);
  });

  test('an existing service account signs in to accept, and keeps its other roles', async () => {
    const { browser, link, page } = await openInvitation('south-bot@range.example');
    expect(page.html).toContain('There is already an account for this address');
    const user = { username: 'south-bot@range.example', password };
    const accept = await browser.submit(linkTo(page, 'Sign in to accept'), user);
    expect(accept.url.href).toBe(link);
    expect(await rolesOf('south-bot@range.example')).toEqual(['fac-south bookings-manager service']);
    const home = await browser.send(accept, {}, { action: '/portal/invitation' });
    expect(home.url.pathname).toBe('/portal');
    expect(await rolesOf('south-bot@range.example')).toEqual([
      'fac-north bookings-manager service',
      'fac-south bookings-manager service',
    ]);
  });

  test('a user who is signed in to another account cannot accept', async () => {
    const email = 'third-bot@range.example';
    // The second account has the invited address, but has not confirmed this.
    const unconfirmed = accountOf('other-bot', {}, { kind: 'service', email, emailVerified: false });
    await portal.addAccounts(accountOf('third-bot', {}, { kind: 'service' }), unconfirmed);
    await invite(email);
    const link = await portal.invitationLink(email);
    const { browser } = await portal.signIn('other-bot');
    expect((await browser.open(link)).html).toContain('but the invitation is for');
    // This page has no form. Without a CSRF token, the request already fails with 403, before the account is checked.
    // The token comes from the page of another invitation, which has a form.
    await invite('some-newcomer@range.example');
    const other = await browser.open(await portal.invitationLink('some-newcomer@range.example'));
    const csrf = fieldOf(other, 'csrf', { action: '/portal/invitation' }) ?? '';
    expect((await browser.post(link, { accept: 'signed-in' })).status).toBe(403);
    expect((await browser.post(link, { csrf, accept: 'signed-in' })).status).toBe(409);
    for (const name of [email, 'other-bot@range.example']) expect(await rolesOf(name)).toEqual([]);
  });

  test('an invitation replaces an unconfirmed account with the same address', async () => {
    const email = 'squatted@range.example';
    const squatter = portal.openBrowser();
    await squatter.submit('/register', { name: 'Squatter', username: email, password: 'seven other lamps' });
    const { browser, page } = await openInvitation(email);
    const home = await browser.send(page, newcomer, { action: '/portal/invitation' });
    expect(home.url.pathname).toBe('/portal');
    expect(await rolesOf(email)).toEqual(['fac-north bookings-manager service']);
    expect((await squatter.open('/account')).title).toMatch(/^Sign in/);
  });

  test('a person’s account is rejected with an explanation, when it is invited and when it accepts', async () => {
    // This account belongs to a person who has no role at any facility.
    const { page } = await invite('nobody@range.example');
    expect(page.status).toBe(409);
    expect(page.html).toContain('belongs to a person’s account');
    expect(fieldOf(page, 'email')).toBe('nobody@range.example');

    // The account of the person is created after the invitation was sent.
    await invite('late@range.example');
    await portal.addAccounts(accountOf('late', {}, { username: 'Late@range.example' }));
    const rejected = await portal.openBrowser().open(await portal.invitationLink('late@range.example'));
    expect(rejected.status).toBe(409);
    expect(rejected.html).toContain('is the address of a person’s account');
    expect(await rolesOf('late@range.example')).toEqual([]);
  });
});

describe('the welcome message after an invitation was accepted', () => {
  test('a person with several facilities is welcomed to the new facility', async () => {
    await invite('southerner@range.example', { role: 'staff' });
    const link = await portal.invitationLink('southerner@range.example');
    const { browser } = await portal.signIn('southerner');
    const list = await browser.submit(link, {}, { action: '/portal/invitation' });
    expect(list.title).toMatch(/^Your facilities/);
    expect(textOf(list.html)).toContain('Welcome to North Range. Your role is Staff.');
  });

  test('a user is not welcomed to a facility where the user has no role', async () => {
    const { page } = await portal.signIn('chain', '/portal?welcome=fac-elsewhere');
    expect(page.html).not.toContain('Welcome');
  });
});

describe('an owner invites a person as staff', () => {
  test('the person becomes staff with a new account', async () => {
    const { browser, page } = await openInvitation('greenkeeper@range.example', { role: 'staff' });
    const facility = await browser.send(page, { ...newcomer, name: 'Greta Green' }, { action: '/portal/invitation' });
    expect(facility.url.pathname).toBe(north);
    expect(textOf(facility.html)).toContain('Welcome to North Range. Your role is Staff.');
    expect(await rolesOf('greenkeeper@range.example')).toEqual(['fac-north staff user']);
  });

  test('the person must have a name', async () => {
    const { browser, page: form } = await openInvitation('unnamed@range.example', { role: 'staff' });
    const page = await browser.send(form, { password: newcomer.password }, { action: '/portal/invitation' });
    expect(page.status).toBe(400);
    expect(page.html).toContain('id="name-error"');
  });

  test('staff cannot invite people, and nobody can invite an owner, whatever the form contains', async () => {
    const { page } = await invite('pal@range.example', { by: 'staff', role: 'staff' });
    expect(page.status).toBe(403);
    const { page: owner } = await invite('pal@range.example', { role: 'owner' });
    expect(owner.status).toBe(400);
    expect(await invitationId('pal@range.example')).toBeUndefined();
  });
});

describe('the form of an invitation', () => {
  test.each(['', 'not an address', 'two@a.example, three@b.example', 'a@b.example\nBcc: c@d.example'])(
    'the form of an invitation rejects the address %j next to its field',
    async (email) => {
      const { page } = await invite(email);
      expect(page.status).toBe(400);
      expect(page.html).toContain('id="email-error"');
      expect(page.title).toMatch(/^Error: /);
    },
  );

  test('the form of an invitation shows an error if the address already has a role or an open invitation', async () => {
    expect((await invite('BOT@range.example')).page.html).toContain('already has a role here');
    await invite('twice@range.example');
    const { page } = await invite('Twice@range.example');
    expect(page.status).toBe(409);
    expect(page.html).toContain('already has an open invitation');
  });

  test.each([
    ['invited', 10],
    ['invite', 100],
  ])('above the limit in the counter %s of %i invitations in an hour, 429 with Retry-After', async (counter, limit) => {
    const email = `${counter}-often@range.example`;
    const { browser } = await invite(email);
    const counts = portal.server.db('guard_count').whereLike('key', `${counter}:%`);
    await counts.update({ points: limit - 1 });
    const action = `/invitations/${await invitationId(email)}/resend`;
    const sendAgain = () => browser.submit(north, {}, { action });
    expect((await sendAgain()).status).toBe(200);
    const refused = await sendAgain();
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    await portal.server.db('guard_count').del();
  });
});

describe('a link that no longer works says why, and what to do next', () => {
  test('the link of an accepted invitation says that the invitation was accepted', async () => {
    const { browser, link, page } = await openInvitation('replayed@range.example');
    await browser.send(page, newcomer, { action: '/portal/invitation' });
    for (const again of [
      await portal.openBrowser().open(link),
      await browser.send(page, newcomer, { action: '/portal/invitation' }),
    ]) {
      expect(again.status).toBe(410);
      expect(again.html).toContain('It was already accepted');
    }
  });

  test('the link of an expired invitation says that it has expired, and the address can be invited again', async () => {
    const { link } = await openInvitation('expired@range.example');
    await portal.server.db('invitation').where({ email: 'expired@range.example' }).update({ expires_at: new Date() });
    const page = await portal.openBrowser().open(link);
    expect(page.status).toBe(410);
    expect(page.html).toContain('An invitation expires after seven days. Ask North Range to send it again.');
    const { page: facilityPage } = await invite('expired@range.example');
    expect(facilityPage.html).toContain('The invitation is on its way');
    // `invitationLink` ignores the e-mail with the link that is passed here, and waits for the next e-mail.
    const newLink = await portal.invitationLink('expired@range.example', link);
    expect((await portal.openBrowser().open(newLink)).status).toBe(200);
  });

  test('after an invitation was sent again, only the new link works', async () => {
    const { browser, page } = await invite('again@range.example');
    const first = await portal.invitationLink('again@range.example');
    await browser.send(page, {}, { action: `/invitations/${await invitationId('again@range.example')}/resend` });
    const second = await portal.invitationLink('again@range.example', first);
    expect((await portal.openBrowser().open(first)).status).toBe(410);
    expect((await portal.openBrowser().open(second)).status).toBe(200);
  });

  test('an invitation is withdrawn after a confirmation, and its link then says so', async () => {
    const { browser, page } = await invite('withdrawn@range.example');
    const id = await invitationId('withdrawn@range.example');
    const confirm = await browser.open(linkTo(page, `${id}/withdraw`));
    expect(confirm.title).toMatch(/^Withdraw/);
    const done = await browser.send(confirm, {}, { action: '/withdraw' });
    expect(done.html).toContain('The invitation was withdrawn');
    expect((await browser.send(confirm, {}, { action: '/withdraw' })).status).toBe(409);
    const rejected = await portal.openBrowser().open(await portal.invitationLink('withdrawn@range.example'));
    expect(rejected.status).toBe(410);
    expect(rejected.html).toContain('North Range has withdrawn it');
  });

  test.each([
    ['no token', ''],
    ['two long tokens', `?token=a&token=${'x'.repeat(5000)}`],
  ])('a link that never existed says that it is incomplete: %s', async (_title, query) => {
    const page = await portal.openBrowser().open(`/portal/invitation${query}`);
    expect(page.status).toBe(410);
    expect(page.html).toContain('The link is incomplete');
  });
});

test('of several parallel acceptances, one creates the account and the others get 410', async () => {
  await invite('raced@range.example');
  const link = await portal.invitationLink('raced@range.example');
  const visitors = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const browser = portal.openBrowser();
      return { browser, page: await browser.open(link) };
    }),
  );
  const responses = await Promise.all(visitors.map(({ browser, page }) => browser.send(page, newcomer)));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410, 410, 410]);
  expect(await rolesOf('raced@range.example')).toEqual(['fac-north bookings-manager service']);
});

test('when a member loses the role at a facility, the open invitations of the member are withdrawn', async () => {
  await portal.addAccounts(accountOf('leaver', { 'fac-north': 'staff' }));
  const { link } = await openInvitation('backdoor@range.example', { by: 'leaver' });
  const { browser, page } = await portal.signIn('owner', `${north}/people/acc-leaver/revoke`);
  expect((await browser.send(page, {}, { action: '/revoke' })).status).toBe(200);
  expect((await portal.openBrowser().open(link)).status).toBe(410);
  const history = await browser.open(`${north}/history`);
  expect(history.html).toContain('withdrew the invitation of backdoor@range.example');
});
