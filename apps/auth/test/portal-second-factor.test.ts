// Tests the rule of a facility that every member needs a second factor (docs/sign-in-security.md).
import { useFixture } from '@bay-booking/testkit/fixture';
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { codeOf, forgetUsedCodes } from './factors-fixture.ts';
import { accountOf, filled, password, startPortal } from './portal-fixture.ts';

const portal = useFixture(() => startPortal());

let count = 0;
let facility: string;
let names: { owner: string; staff: string; bot: string };
beforeEach(async () => {
  const id = `fac-${++count}`;
  facility = `/portal/facilities/${id}`;
  names = { owner: `owner-${count}`, staff: `staff-${count}`, bot: `bot-${count}` };
  await portal.server.load({
    facilities: [{ id, name: `Range ${count}` }],
    accounts: [
      accountOf(names.owner, { [id]: 'owner' }, { kind: 'user' }),
      accountOf(names.staff, { [id]: 'staff' }, { kind: 'user' }),
      accountOf(names.bot, { [id]: 'bookings-manager' }, { kind: 'service' }),
    ],
  });
});

const asksForSetUp = ({ url }: Page): boolean => url.pathname === '/account/security';
const setRule = (browser: FormBrowser, page: Page, requireSecondFactor: readonly string[]) =>
  browser.send(filled(page, '/second-factor'), { requireSecondFactor });

/** Signs in as an owner with an authenticator app, and requires a second factor. */
async function requireSecondFactor() {
  const { browser } = await portal.signIn(names.owner, facility);
  const { secret } = await portal.setUpApp(browser);
  await forgetUsedCodes(portal.server);
  const page = await setRule(browser, await browser.open(portal.at(facility)), ['yes']);
  expect(page.html).toContain('Everybody here now needs a second factor');
  return { browser, page, secret };
}

describe('a facility that requires a second factor', () => {
  test('an owner without one sets the rule, and must then set a factor up', async () => {
    const { browser, page } = await portal.signIn(names.owner, facility);
    expect(asksForSetUp(await setRule(browser, page, ['yes']))).toBe(true);
  });

  test('members without one must set one up before any page of the facility, and then return to it', async () => {
    await requireSecondFactor();
    const { browser, page } = await portal.signIn(names.staff, facility);
    for (const path of ['', '/history', `/people/acc-${names.bot}/revoke`]) {
      expect(asksForSetUp(await browser.open(portal.at(facility + path)))).toBe(true);
    }
    const link = page.links.find(({ text }) => text.includes('Set up an authenticator app'))?.href;
    const { page: codes } = await portal.setUpApp(browser, link);
    const next = codes.links.find(({ text }) => text.includes('saved'))?.href ?? '';
    expect((await browser.open(next)).url.pathname).toBe(facility);
  });

  test('a service account too, before it sees or creates tokens', async () => {
    await requireSecondFactor();
    const { browser, page } = await portal.signIn(names.bot, '/portal');
    expect(asksForSetUp(page)).toBe(true);
    const { page: codes } = await portal.setUpApp(
      browser,
      page.links.find(({ text }) => text.includes('Set up an authenticator app'))?.href,
    );
    const tokens = await browser.open(codes.links.find(({ text }) => text.includes('saved'))?.href ?? '');
    const created = await browser.send(tokens, { name: 'Till', expiresInDays: '30' });
    expect(created.title).toMatch(/^Till is created/);
  });

  test('changes need both factors within ten minutes; pages do not', async () => {
    const { browser, secret } = await requireSecondFactor();
    await portal.ageSession(names.owner, 11);
    const page = await browser.open(portal.at(facility));
    expect(page.url.pathname).toBe(facility);
    const signIn = await browser.send(page, { email: 'new-bot@range.example' });
    expect(signIn.title).toMatch(/^Confirm that it is you/);
    const asked = await browser.send(signIn, { password: 'demo-person-pass' });
    const back = await browser.send(asked, { code: codeOf(secret) });
    expect([back.url.pathname, back.url.searchParams.get('email')]).toEqual([facility, 'new-bot@range.example']);
    expect((await browser.send(back, { email: 'new-bot@range.example' })).html).toContain(
      'The invitation is on its way',
    );
  });

  test('the last factor cannot be removed, until the rule ends', async () => {
    const { browser, page } = await requireSecondFactor();
    const question = await browser.open(portal.at('/account/security/authenticator/remove'));
    const refused = await browser.send(question, {}, 'Remove');
    expect([refused.status, refused.html.includes('requires a second factor')]).toEqual([409, true]);
    await setRule(browser, page, []);
    const removed = await browser.send(question, {}, 'Remove');
    expect(removed.html).toContain('Authenticator app removed');
  });

  test('staff cannot change the rule', async () => {
    const { browser, page } = await portal.signIn(names.staff, facility);
    expect(page.html).not.toContain('requireSecondFactor');
    const forged = filled(page, '/invitations', { requireSecondFactor: 'yes' });
    const form = forged.forms[0];
    if (!form) throw new Error('no form');
    const action = form.action.replace('/invitations', '/second-factor');
    expect((await browser.send({ ...forged, forms: [{ ...form, action }] }, {})).status).toBe(403);
  });
});

describe('an owner resets the second factor of a member who has lost it', () => {
  const resetPath = (name: string) => `${facility}/people/acc-${name}/reset-factors`;

  test('the member signs in with the password, gets a mail, and every facility is told', async () => {
    const other = `fac-other-${count}`;
    const memberships = { [`fac-${count}`]: 'staff', [other]: 'staff' } as const;
    await portal.server.load({
      facilities: [{ id: other, name: 'Other Range' }],
      accounts: [
        accountOf(names.staff, memberships, { kind: 'user', name: 'Stella' }),
        accountOf(`other-${count}`, { [other]: 'owner' }, { kind: 'user' }),
      ],
    });
    const { browser: member } = await portal.signIn(names.staff, '/account');
    await portal.setUpApp(member);
    const { browser } = await portal.signIn(names.owner, facility);
    const page = await browser.open(portal.at(`${facility}/people/acc-${names.staff}`));
    expect(textOf(page.html)).toContain('Second factor set up');
    await portal.ageSession(names.owner, 11);
    const link = page.links.find(({ text }) => text === 'Reset the second factor')?.href ?? '';
    const proof = await browser.open(link);
    expect(proof.title).toMatch(/^Confirm that it is you/);
    const question = await browser.send(proof, { password });
    const done = await browser.send(question, {}, 'Reset the second factor');
    expect(textOf(done.html)).toContain('The second factor was reset');

    expect((await member.open(portal.at('/account'))).title).toMatch(/^Sign in/);
    expect((await portal.signIn(names.staff, '/account')).page.url.pathname).toBe('/account');
    const address = `${names.staff}@range.example`;
    await portal.smtp.mailTo(address, ({ subject }) => subject.startsWith('All second factors were removed'));
    const told = await portal.smtp.mailTo(`other-${count}@range.example`);
    expect(told.text).toContain('Somebody outside this facility reset the second factor of Stella');
    expect(told.text).not.toContain(names.owner);
    const historyOf = async (name: string, path: string) =>
      textOf((await portal.signIn(name, `${path}/history`)).page.html.replaceAll('</strong>', ''));
    expect(await historyOf(names.owner, facility)).toContain(
      `${names.owner}@range.example reset the second factor of Stella`,
    );
    const elsewhere = await historyOf(`other-${count}`, `/portal/facilities/${other}`);
    expect(elsewhere).toContain('Somebody outside this facility reset the second factor of Stella');
    expect(elsewhere).not.toContain(names.owner);
    expect((await browser.send(question, {}, 'Reset the second factor')).status).toBe(409);
  });

  test('nobody else can, and an owner not for the own account', async () => {
    const { browser: owner } = await portal.signIn(names.owner, facility);
    await portal.setUpApp(owner);
    const { browser: staff } = await portal.signIn(names.staff, facility);
    const { browser: foreigner } = await portal.signIn('owner');
    const statusOf = async (browser: FormBrowser, name: string) =>
      (await browser.open(portal.at(resetPath(name)))).status;
    expect(await statusOf(staff, names.owner)).toBe(403);
    expect(await statusOf(foreigner, names.owner)).toBe(404);
    expect(await statusOf(owner, names.owner)).toBe(403);
    expect(await statusOf(owner, 'southerner')).toBe(404);
    const { rows } = await portal.server.db.raw('select 1 from authenticator_app where account_id = ?', [
      `acc-${names.owner}`,
    ]);
    expect(rows).toHaveLength(1);
  });
});

test('without the rule, pages ask for what they asked for before', async () => {
  const { browser, page } = await portal.signIn(names.owner, facility);
  await portal.ageSession(names.owner, 11);
  expect((await browser.send(page, { email: 'other-bot@range.example' })).html).toContain(
    'The invitation is on its way',
  );
});
