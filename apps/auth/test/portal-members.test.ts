// Tests which members may change and revoke the roles of other members, the effect of a revoked role, the history of a
// facility, and its e-mails (docs/portal.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import { fieldOf, linkTo } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { rounds } from '@bay-booking/testkit/rounds';
import { eventually } from '@bay-booking/testkit/wait';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { forgetUsedCodes } from './factors-fixture.ts';
import { accountOf, daySheetUrl, facilitiesOf, north, startPortal } from './portal-fixture.ts';

// In fac-north, `owner`, `partner` and `chain` are owners, `staff` is staff, and the service account `bot` is Bookings
// Manager. `chain` is also an owner of fac-south, where `south-bot` is Bookings Manager.
const portal = useFixture(() => startPortal());

const memberPath = (name: string, page: 'role' | 'revoke', facility = north) =>
  `${facility}/people/acc-${name}/${page}`;
const roleOf = (name: string, facility_id = 'fac-north'): Promise<{ role: string } | undefined> =>
  portal.server
    .db('membership')
    .where({ facility_id, account_id: `acc-${name}` })
    .first('role');
/** Adds a facility with these members, and returns its path. */
const addFacility = async (
  id: string,
  owners: readonly string[],
  others: Record<string, 'staff' | 'bookings-manager'> = {},
): Promise<string> => {
  const account = (name: string, role: 'owner' | 'staff' | 'bookings-manager') =>
    accountOf(name, { [id]: role }, { name, kind: role === 'bookings-manager' ? 'service' : 'user' });
  await portal.server.load({
    facilities: [{ id, name: `Range ${id}` }],
    accounts: [
      ...owners.map((name) => account(name, 'owner')),
      ...Object.entries(others).map(([name, role]) => account(name, role)),
    ],
  });
  return `/portal/facilities/${id}`;
};
/** Gives the service account a personal access token, and returns a function that requests an access token with it. */
const addToken = async (name: string) => {
  await portal.server.load({
    clients: [{ client_id: `pat-${name}`, client_secret: `secret-of-${name}`, accountId: `acc-${name}`, name }],
  });
  return () => portal.requestToken(`pat-${name}`, `secret-of-${name}`);
};

describe('an owner or staff member sees the people of the facility', () => {
  test('an owner can change every role, staff only those of service accounts', async () => {
    const owner = (await portal.signIn('owner', north)).page;
    expect(textOf(owner.html)).toContain('Your role here: Owner');
    expect(owner.html).toContain(memberPath('partner', 'role'));
    expect(owner.html).toContain(memberPath('bot', 'revoke'));
    const staff = (await portal.signIn('staff', north)).page;
    expect(staff.html).toContain(memberPath('bot', 'revoke'));
    expect(staff.html).not.toContain(memberPath('partner', 'role'));
    expect(staff.html).not.toContain(memberPath('partner', 'revoke'));
    expect(staff.html).toContain('name="role" value="facility-manager"');
    expect(staff.html).not.toContain('name="role" value="staff"');
  });

  test('the page of a member says what the member can do, and how to change that', async () => {
    const pageOf = async (by: string, name: string) => {
      const { browser } = await portal.signIn(by);
      const page = await browser.open(`${north}/people/acc-${name}`);
      return { text: textOf(page.html), links: page.links.map(({ text }) => text), status: page.status };
    };
    const staff = await pageOf('owner', 'staff');
    expect(staff.text).toContain('Staff of North Range. Can book, move and cancel on the day sheet');
    expect(staff.text).toContain('Second factor none');
    expect(staff.links).toEqual(expect.arrayContaining(['Change role', 'Revoke the role']));
    const bot = await pageOf('staff', 'bot');
    expect(bot.text).toContain('Bookings Manager of North Range. For programs');
    expect(bot.text).not.toContain('Second factor');
    expect((await pageOf('owner', 'southerner')).status).toBe(404);
  });

  test('only the page that removes a service account talks of webhooks', async () => {
    const { browser } = await portal.signIn('owner');
    const revoke = async (name: string) => textOf((await browser.open(memberPath(name, 'revoke'))).html);
    expect(await revoke('bot')).toContain('webhooks');
    const staff = await revoke('staff');
    expect(staff).not.toMatch(/webhook|token|API/);
    expect(staff).toContain('they can no longer use the day sheet');
  });

  test('every page of a facility, and the list of facilities, link to the day sheet', async () => {
    for (const name of ['owner', 'staff']) {
      const { browser } = await portal.signIn(name);
      for (const path of [north, `${north}/tokens`, `${north}/history`])
        expect(linkTo(await browser.open(path), 'Today at North Range')).toBe(daySheetUrl);
    }
    const { page } = await portal.signIn('chain');
    for (const name of ['North', 'South']) expect(linkTo(page, `Today at ${name} Range`)).toBe(daySheetUrl);
  });

  test('dates are shown in the time zone of the facility, which is UTC if the import names none', async () => {
    const timesOf = async (stored: string, zone?: string) => {
      await portal.server.load({
        facilities: [{ id: 'fac-north', name: 'North Range', ...(zone && { timeZone: zone }) }],
      });
      const { page } = await portal.signIn('owner', north);
      // The page shows since when each member has the role.
      const times = [...page.html.matchAll(/<time datetime="([^"]+)" title="\1" data-keeps-zone>([^<]*)<\/time>/g)];
      expect(times.length).toBeGreaterThan(5);
      expect(textOf(page.html)).toContain(`Times are in ${stored}.`);
      return times.map(([, iso, text]) => ({ iso: String(iso), text }));
    };
    for (const { text } of await timesOf('UTC')) expect(text).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d$/);
    for (const { iso, text } of await timesOf('Asia/Tokyo', 'Asia/Tokyo')) {
      const inTokyo = new Date(Date.parse(iso) + 9 * 3_600_000).toISOString().slice(11, 16);
      expect(text).toMatch(new RegExp(`^\\d+ \\w+ \\d{4}, ${inTokyo}$`));
    }
    // A file without the field keeps the stored time zone.
    await timesOf('Asia/Tokyo');
    await portal.server.load({ facilities: [{ id: 'fac-north', name: 'North Range', timeZone: 'UTC' }] });
  });
});

describe('roles change', () => {
  test.each<[by: string, name: string, page: 'role' | 'revoke', role: string]>([
    ...['owner', 'bookings-manager', 'emperor', ''].map((role) => ['staff', 'staff', 'role', role] as never),
    ['staff', 'owner', 'revoke', ''],
    ['staff', 'partner', 'revoke', ''],
    // A service account can only be Bookings Manager or Facility Manager.
    ['owner', 'bot', 'role', 'owner'],
  ])('the %s, for %s on the page %s, may not send the role %j', async (by, name, memberPage, role) => {
    const before = await roleOf(name);
    const { browser, page } = await portal.signIn(by, north);
    // The page has no form for this request, so the test forges one with the CSRF token of another form.
    const csrf = fieldOf(page, 'csrf') ?? '';
    expect((await browser.post(memberPath(name, memberPage), { csrf, role })).status).toBe(403);
    if (memberPage === 'revoke') expect((await browser.open(memberPath(name, 'revoke'))).status).toBe(403);
    expect(await roleOf(name)).toEqual(before);
  });
});

describe('the last owner of a facility', () => {
  test('the last owner of a facility has no links to leave it or change the role, and can do neither', async () => {
    const facility = await addFacility('fac-only', ['only'], { 'only-staff': 'staff' });
    const { browser, page } = await portal.signIn('only', facility);
    expect(page.html).not.toContain(memberPath('only', 'revoke', facility));
    expect(page.html).not.toContain(memberPath('only', 'role', facility));
    expect(textOf(page.html)).toContain('the only owner');
    const rejected = await browser.submit(memberPath('only', 'revoke', facility), {}, { action: '/revoke' });
    expect([rejected.status, rejected.html.includes('You are the last owner of Range fac-only')]).toEqual([409, true]);
    expect((await browser.submit(memberPath('only', 'role', facility), { role: 'staff' })).status).toBe(409);
    expect(await roleOf('only', 'fac-only')).toEqual({ role: 'owner' });
    const withTwo = await browser.submit(memberPath('only-staff', 'role', facility), { role: 'owner' });
    expect(withTwo.html).toContain(memberPath('only', 'revoke', facility));
    expect(textOf(withTwo.html)).not.toContain('the only owner');
  });

  test('the last owner of a facility is the only owner whose account is not disabled', async () => {
    const facility = await addFacility('fac-gone', ['present', 'gone']);
    await portal.server.db.raw("update account set disabled_at = now() where id = 'acc-gone'");
    const { browser, page } = await portal.signIn('present', memberPath('present', 'revoke', facility));
    expect((await browser.send(page, {}, { action: '/revoke' })).status).toBe(409);
    expect(textOf((await browser.open(facility)).html)).toContain('the only owner');
  });

  test('one owner remains if two owners remove each other in parallel, in every round', async () => {
    for (let round = 0; round < rounds(10); round++) {
      const id = `fac-duel-${round}`;
      const names = [`left-${round}`, `right-${round}`] as const;
      const facility = await addFacility(id, names);
      const removals = await Promise.all(
        names.map(async (name, index) => {
          const other = names[1 - index] as string;
          const { browser, page } = await portal.signIn(name, memberPath(other, 'revoke', facility));
          return () => browser.send(page, {}, { action: '/revoke' });
        }),
      );
      const statuses = (await Promise.all(removals.map((remove) => remove()))).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(await portal.server.db('membership').where({ facility_id: id, role: 'owner' })).toHaveLength(1);
    }
  });
});

describe('a revoked role stops new access tokens', () => {
  test('the confirmation page says what ends, and new access tokens are not issued', async () => {
    const requestToken = await addToken('bot');
    const before = await requestToken();
    expect(facilitiesOf(before)).toEqual(['fac-north']);
    const { browser, page } = await portal.signIn('staff', memberPath('bot', 'revoke'));
    expect(textOf(page.html)).toContain(
      'the Bookings API rejects access tokens that were already issued, releases its holds here',
    );
    expect(textOf(page.html)).toContain('1 active token');
    const done = await browser.send(page, {}, { action: '/revoke' });
    expect(done.html).toContain('The role was revoked');
    expect(await requestToken()).toMatchObject({ status: 400, error: 'invalid_scope' });
    expect((await browser.send(page, {}, { action: '/revoke' })).status).toBe(404);
  });

  test('a disabled or deleted account gets no access token', async () => {
    const requestToken = await addToken('south-bot');
    expect(await requestToken()).toMatchObject({ status: 200 });
    const account = portal.server.db('account').where({ id: 'acc-south-bot' });
    await account.clone().update({ disabled_at: new Date() });
    expect(await requestToken()).toMatchObject({ status: 401, error: 'invalid_client' });
    await account.clone().update({ disabled_at: null });
    expect(await requestToken()).toMatchObject({ status: 200 });
    await account.delete();
    expect(await requestToken()).toMatchObject({ status: 401, error: 'invalid_client' });
  });
});

describe('the history of a facility', () => {
  test('the history of a facility lists who changed what, when and from which IP address, newest first', async () => {
    const facility = await addFacility('fac-story', ['teller'], { 'story-bot': 'bookings-manager', helper: 'staff' });
    const { browser, page } = await portal.signIn('teller', facility);
    await browser.send(page, { email: 'Site@range.example', role: 'bookings-manager' }, { action: '/invitations' });
    const open = await browser.open(facility);
    await browser.send(open, {}, { action: '/resend' });
    await browser.submit(linkTo(open, '/withdraw'), {}, { action: '/withdraw' });
    await browser.submit(memberPath('helper', 'role', facility), { role: 'owner' });
    const bot = await portal.signIn('story-bot');
    await bot.browser.send(bot.page, { name: 'Till' }, { action: '/portal/tokens' });
    await browser.submit(memberPath('story-bot', 'revoke', facility), {}, { action: '/revoke' });

    const history = await browser.open(`${facility}/history`);
    // `textOf` replaces a tag by a space, which would separate a name from the punctuation after it.
    const text = textOf(history.html.replaceAll('</strong>', ''));
    const expected = [
      'teller revoked the role Bookings Manager of story-bot.',
      'story-bot created the personal access token “Till”, valid for 90 days.',
      'teller changed the role of helper from Staff to Owner.',
      'teller withdrew the invitation of Site@range.example as Bookings Manager.',
      'teller resent the invitation of Site@range.example as Bookings Manager.',
      'teller invited Site@range.example as Bookings Manager.',
    ];
    const positions = expected.map((line) => text.indexOf(line));
    expect(positions).not.toContain(-1);
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    expect(text).toContain('from 127.0.0.1');
    expect(history.html).toMatch(
      /<time datetime="(\d{4}-\d\d-\d\dT[\d:.]+Z)" title="\1" data-keeps-zone>\d+ \w+ \d{4}, \d\d:\d\d<\/time>/,
    );
  });

  test('the history of a facility is divided into pages', async () => {
    await addFacility('fac-long', ['chronicler']);
    await portal.server.db.raw(
      `insert into audit_event (at, kind, account_id, facility_id, detail)
       select now() - make_interval(secs => n), 'invitation.sent', 'acc-chronicler', 'fac-long',
              jsonb_build_object('email', 'n' || n || '@range.example', 'role', 'staff')
         from generate_series(1, 40) n`,
    );
    // A page shows 25 events, so the 40 events are on two pages.
    const path = '/portal/facilities/fac-long/history';
    const { browser, page } = await portal.signIn('chronicler', path);
    expect(page.html).toContain('n1@');
    expect(page.html).not.toContain('n26@');
    const second = await browser.open(linkTo(page, 'Older'));
    expect(second.html).toContain('n26@');
    expect(second.links.some(({ text }) => text === 'Older')).toBe(false);
    expect((await browser.open(`${path}?page=3`)).html).toContain('There are no older events');
    for (const invalid of ['0', '-1', '1.5', 'x', '999999999999']) {
      expect((await browser.open(`${path}?page=${invalid}`)).status).toBe(404);
    }
  });
});

describe('who gets an e-mail about a change, which says who changed what, and when', () => {
  const when = String.raw`\d+ \w+ \d{4}, \d\d:\d\d Asia/Tokyo`;
  let count = 0;
  let id: string;
  let path: string;
  /** Returns the name of an account of the current test, such as `boss1`. */
  const nameOf = (role: string): string => `${role}${count}`;
  const addressOf = (role: string): string => `${nameOf(role)}@range.example`;
  const signIn = (role: string, at = path) => portal.signIn(nameOf(role), at);
  beforeEach(async () => {
    id = `fac-mail-${++count}`;
    path = `/portal/facilities/${id}`;
    const account = (role: string, membership: 'owner' | 'staff' | 'bookings-manager') => {
      const kind = membership === 'bookings-manager' ? 'service' : 'user';
      const profile = { name: `Name of ${role}`, email: addressOf(role), emailVerified: true, kind } as const;
      return accountOf(nameOf(role), { [id]: membership }, profile);
    };
    const owners = ['boss', 'partner'].map((role) => account(role, 'owner'));
    await portal.server.load({
      facilities: [{ id, name: 'Mail Range', timeZone: 'Asia/Tokyo' }],
      accounts: [...owners, account('deputy', 'staff'), account('till', 'bookings-manager')],
    });
  });

  /**
   * Expects an e-mail to each recipient that contains the text after the facility and the time, and no other e-mail.
   */
  async function expectMails(subject: string, recipients: readonly string[], text: string): Promise<void> {
    const isIt = (mail: { subject: string; to: readonly string[] }) =>
      mail.subject === subject &&
      mail.to.some((address) => /\d@/.test(address) && address.split('@')[0]?.endsWith(String(count)));
    for (const role of recipients) {
      const mail = await portal.smtp.mailTo(addressOf(role), isIt);
      expect(mail.text).toMatch(new RegExp(`Mail Range, ${when}: `));
      expect(mail.text).toContain(text);
    }
    await eventually(async () => !(await portal.server.db('outbox').first()));
    const mails = portal.smtp.mails().filter(isIt);
    expect(new Set(mails.flatMap(({ to }) => to))).toEqual(new Set(recipients.map(addressOf)));
  }

  test('an accepted invitation: the owners and the member of the staff who has invited', async () => {
    const { browser, page } = await signIn('deputy');
    const email = addressOf('booking');
    await browser.send(page, { email, role: 'bookings-manager' }, { action: '/invitations' });
    const guest = portal.openBrowser();
    await guest.submit(await portal.invitationLink(email), {
      name: 'Booking site',
      password: 'nine green kettles',
    });
    await expectMails(
      'An invitation to Mail Range was accepted',
      ['boss', 'partner', 'deputy'],
      `Booking site (${email}) accepted the invitation of ${email} and became Bookings Manager.`,
    );
  });

  describe('tokens', () => {
    const createToken = async (name = 'Till') => {
      const { browser, page } = await signIn('till', '/portal');
      await browser.send(page, { name, expiresInDays: '30', facility: id, access: 'read' }, { action: '/tokens' });
      return browser;
    };

    test('a created token, and one that its account revokes: the owners', async () => {
      const browser = await createToken();
      await expectMails(
        'A token for Mail Range was created',
        ['boss', 'partner'],
        `Name of till (${addressOf('till')}) created the personal access token “Till”, valid for 30 days.`,
      );
      await browser.submit(linkTo(await browser.open('/portal'), '/revoke'), {}, 'Revoke the token');
      await expectMails(
        'A token for Mail Range was revoked',
        ['boss', 'partner'],
        'revoked the personal access token “Till”.',
      );
    });

    test('a token that the staff revokes: the service account and the owners, without a name that could be a link', async () => {
      await createToken('Sign in at evil.example');
      const { browser, page } = await signIn('deputy', `${path}/tokens`);
      await browser.submit(linkTo(page, '/revoke'), {}, 'Revoke the token');
      await expectMails(
        'A token for Mail Range was revoked',
        ['boss', 'partner', 'till'],
        `Name of deputy (${addressOf('deputy')}) revoked the personal access token “(see the portal)”.`,
      );
    });
  });

  test('a changed and a revoked role: the member', async () => {
    const { browser, page } = await signIn('boss', `${path}/people/acc-${nameOf('deputy')}/role`);
    await browser.send(page, { role: 'owner' }, { action: '/role' });
    await expectMails(
      'Your role at Mail Range was changed',
      ['deputy'],
      `Name of boss (${addressOf('boss')}) changed the role of Name of deputy from Staff to Owner.`,
    );
    await browser.submit(`${path}/people/acc-${nameOf('deputy')}/revoke`, {}, 'Revoke the role');
    await expectMails('A role at Mail Range was revoked', ['deputy'], 'revoked the role Owner of Name of deputy.');
  });

  test('a member who leaves: the owners', async () => {
    const { browser, page } = await signIn('partner', `${path}/people/acc-${nameOf('partner')}/revoke`);
    await browser.send(page, {}, 'Leave the facility');
    await expectMails('A role at Mail Range was revoked', ['boss'], 'gave up the role Owner.');
  });

  test('a second factor becomes mandatory: every other member, once', async () => {
    const { browser } = await signIn('boss');
    await portal.setUpApp(browser);
    await forgetUsedCodes(portal.server);
    const required = await browser.submit(path, { requireSecondFactor: ['yes'] }, { action: '/second-factor' });
    await browser.send(required, {}, { action: '/second-factor' });
    const subject = 'Mail Range now requires a second factor';
    await expectMails(subject, ['partner', 'deputy', 'till'], 'required a second factor for everybody.');
    const toDeputy = await portal.smtp.mailTo(addressOf('deputy'), (mail) => mail.subject === subject);
    expect(toDeputy.text).toContain('/account/security');
    expect(portal.smtp.mails().filter((mail) => mail.subject === subject)).toHaveLength(3);
  });
});
