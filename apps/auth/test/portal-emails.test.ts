// Tests who gets an e-mail about a change at a facility, and that it says who changed what, and when (docs/portal.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from './auth-server.ts';
import { forgetUsedCodes } from './factors-fixture.ts';
import { accountOf, filled, startPortal } from './portal-fixture.ts';

const portal = useFixture(() => startPortal());

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
  const account = (role: string, membership: 'owner' | 'staff' | 'bookings-manager') =>
    accountOf(
      nameOf(role),
      { [id]: membership },
      {
        name: `Name of ${role}`,
        email: addressOf(role),
        emailVerified: true,
        kind: membership === 'bookings-manager' ? 'service' : 'user',
      },
    );
  await portal.server.load({
    facilities: [{ id, name: 'Mail Range', timeZone: 'Asia/Tokyo' }],
    accounts: [
      account('boss', 'owner'),
      account('partner', 'owner'),
      account('deputy', 'staff'),
      account('till', 'bookings-manager'),
    ],
  });
});

/** Expects an e-mail to each recipient that contains the text after the facility and the time, and no other e-mail. */
async function expectMails(subject: string, recipients: readonly string[], text: string): Promise<void> {
  const isIt = (mail: { subject: string; to: readonly string[] }) =>
    mail.subject === subject &&
    mail.to.some((address) => /\d@/.test(address) && address.split('@')[0]?.endsWith(String(count)));
  for (const role of recipients) {
    const mail = await portal.smtp.mailTo(addressOf(role), isIt);
    expect(mail.text).toMatch(new RegExp(`Mail Range, ${when}: `));
    expect(mail.text).toContain(text);
  }
  await eventually(async () => (await portal.server.db.raw('select from outbox')).rows.length === 0);
  const received = new Set(
    portal.smtp
      .mails()
      .filter(isIt)
      .flatMap(({ to }) => to),
  );
  expect([...received].sort()).toEqual(recipients.map(addressOf).sort());
}

test('an accepted invitation: the owners and the member of the staff who has invited', async () => {
  const { browser, page } = await signIn('deputy');
  const email = addressOf('booking');
  await browser.send(filled(page, '/invitations', { email, role: 'bookings-manager' }), {});
  const guest = portal.openBrowser();
  await guest.send(await guest.open(await portal.invitationLink(email)), {
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
  const createToken = async () => {
    const { browser, page } = await signIn('till', '/portal');
    await browser.send(
      filled(page, '/tokens', { name: 'Till', expiresInDays: '30', facility: id, access: 'read' }),
      {},
    );
    return browser;
  };

  test('a created token, and one that its account revokes: the owners', async () => {
    const browser = await createToken();
    await expectMails(
      'A token for Mail Range was created',
      ['boss', 'partner'],
      `Name of till (${addressOf('till')}) created the personal access token “Till”, valid for 30 days.`,
    );
    const home = await browser.open(portal.at('/portal'));
    const revoke = home.links.find(({ href }) => href.endsWith('/revoke'))?.href ?? '';
    await browser.send(await browser.open(revoke), {}, 'Revoke the token');
    await expectMails(
      'A token for Mail Range was revoked',
      ['boss', 'partner'],
      'revoked the personal access token “Till”.',
    );
  });

  test('a token that the staff revokes: the service account and the owners', async () => {
    await createToken();
    const { browser, page } = await signIn('deputy', `${path}/tokens`);
    const revoke = page.links.find(({ href }) => href.endsWith('/revoke'))?.href ?? '';
    await browser.send(await browser.open(revoke), {}, 'Revoke the token');
    await expectMails(
      'A token for Mail Range was revoked',
      ['boss', 'partner', 'till'],
      `Name of deputy (${addressOf('deputy')}) revoked the personal access token “Till”.`,
    );
  });

  test('a name that could become a link is left out', async () => {
    const { browser, page } = await signIn('till', '/portal');
    const values = { name: 'Sign in at evil.example', expiresInDays: '30', facility: id, access: 'read' };
    await browser.send(filled(page, '/tokens', values), {});
    await expectMails('A token for Mail Range was created', ['boss', 'partner'], '“(see the portal)”');
  });
});

test('a changed and a revoked role: the member', async () => {
  const { browser, page } = await signIn('boss', `${path}/people/acc-${nameOf('deputy')}/role`);
  await browser.send(filled(page, '/role', { role: 'owner' }), {});
  await expectMails(
    'Your role at Mail Range was changed',
    ['deputy'],
    `Name of boss (${addressOf('boss')}) changed the role of Name of deputy from Staff to Owner.`,
  );
  await browser.send(
    await browser.open(portal.at(`${path}/people/acc-${nameOf('deputy')}/revoke`)),
    {},
    'Revoke the role',
  );
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
  const required = await browser.send(filled(await browser.open(portal.at(path)), '/second-factor'), {
    requireSecondFactor: ['yes'],
  });
  await browser.send(filled(required, '/second-factor'), {});
  const subject = 'Mail Range now requires a second factor';
  await expectMails(subject, ['partner', 'deputy', 'till'], 'required a second factor for everybody.');
  const toDeputy = await portal.smtp.mailTo(addressOf('deputy'), (mail) => mail.subject === subject);
  expect(toDeputy.text).toContain('/account/security');
  expect(portal.smtp.mails().filter((mail) => mail.subject === subject)).toHaveLength(3);
});
