// Tests which requests the portal rejects. The response is the sign-in page, a 403 if the user may know the reason, or
// a 404 if the user must not find out that a facility or account exists. The last tests concern the
// second factor that a facility can require.
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, fieldOf, linkTo, type Page } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { codeOf, forgetUsedCodes } from './factors-fixture.ts';
import { accountOf, north, password, startPortal } from './portal-fixture.ts';

// portal-fixture.ts lists the accounts, such as `owner` (an owner of North Range) and `chain` (an owner of both
// facilities). `north` is the path of North Range.
const portal = useFixture(() => startPortal());
// A session that was not used for 120 minutes is idle.
const idleMinutes = 121;

// No invitation inv-x exists. The portal rejects these requests before it looks up the invitation.
const pagesOfNorth = [
  '',
  '/history',
  '/tokens',
  '/people/acc-bot/revoke',
  '/people/acc-staff/role',
  '/invitations/inv-x/withdraw',
].map((path) => north + path);
const formsOfNorth = [
  '/invitations',
  '/people/acc-bot/revoke',
  '/people/acc-staff/role',
  '/invitations/inv-x/resend',
].map((path) => north + path);
const allMemberships = () => portal.server.db('membership').orderBy(['facility_id', 'account_id']);
const csrfTokenOf = (page: Page): string => fieldOf(page, 'csrf') ?? '';

describe('the portal requires sign-in', () => {
  test.each(['/portal', north, `${north}/history?page=2`, '/portal/tokens/x/rotate', '/portal/no/such/page'])(
    'the path %s leads to sign-in',
    async (path) => {
      const response = await fetch(portal.at(path), { redirect: 'manual' });
      expect(response.status).toBe(303);
      expect(response.headers.get('location')).toBe(`/sign-in?return=${encodeURIComponent(path)}`);
    },
  );

  test('a form that was sent without a session changes nothing', async () => {
    const before = await allMemberships();
    for (const path of formsOfNorth) {
      const response = await portal.server.post(path, { email: 'x@range.example', role: 'staff' });
      expect(response.status).toBe(303);
      expect(response.headers.get('location')).toMatch(/^\/sign-in\?return=%2Fportal/);
    }
    expect(await allMemberships()).toEqual(before);
  });
});

test('the sign-in page names the portal and no facility', async () => {
  const { html } = await portal.openBrowser().open(north);
  expect(html).toContain('to continue to <strong>the portal</strong>');
  expect(html).not.toContain('North Range');
});

test('a player without a role reads how to get one, and sees nothing of any facility', async () => {
  const browser = portal.openBrowser();
  const player = { username: 'player@example.com', password: 'demo-player-pass' };
  const page = await browser.submit('/portal', player);
  expect(page.status).toBe(403);
  expect(page.html).toContain('Ask its owner to invite');
  expect(page.html).not.toContain('North Range');
});

test.each(['nobody', 'southerner', 'bot', 'south-bot'])(
  '%s gets 404 for a facility whose people they may not see, and changes nothing',
  async (name) => {
    const { browser, page } = await portal.signIn(name);
    const before = await allMemberships();
    const nowhere = await browser.open('/portal/facilities/fac-nowhere');
    expect(nowhere.title).toMatch(/^Page not found/);
    for (const path of pagesOfNorth) {
      const response = await browser.open(path);
      expect(response.status).toBe(404);
      // The page is the same as for a facility that does not exist.
      expect(response.title).toBe(nowhere.title);
    }
    const form = { csrf: csrfTokenOf(page), email: 'x@range.example', role: 'staff' };
    for (const path of formsOfNorth) expect((await browser.post(path, form)).status).toBe(404);
    expect(await allMemberships()).toEqual(before);
  },
);

test('an owner of one facility cannot change another one', async () => {
  const { browser, page } = await portal.signIn('owner', north);
  // The second path names the facility of the owner, and a member of another facility.
  for (const facility of ['/portal/facilities/fac-south', north]) {
    const path = `${facility}/people/acc-south-bot/revoke`;
    expect((await browser.post(path, { csrf: csrfTokenOf(page) })).status).toBe(404);
  }
});

test('an owner cannot create a personal access token, because only service accounts have them', async () => {
  const { browser, page } = await portal.signIn('owner', north);
  const form = { csrf: csrfTokenOf(page), name: 'Mine', expiresInDays: '30' };
  expect((await browser.post('/portal/tokens', form)).status).toBe(404);
  expect(await portal.server.db('client').where({ account_id: 'acc-owner' })).toEqual([]);
});

describe('the CSRF protection of the portal', () => {
  test.each([
    ['no CSRF token', ''],
    ['a guessed CSRF token', 'AAAA'],
  ])('a form with %s gets 403', async (_title, csrf) => {
    const { browser } = await portal.signIn('owner', north);
    const before = await allMemberships();
    for (const path of formsOfNorth)
      expect((await browser.post(path, { csrf, email: 'x@range.example' })).status).toBe(403);
    const bot = await portal.signIn('bot');
    expect((await bot.browser.post('/portal/tokens', { csrf, name: 'x', expiresInDays: '1' })).status).toBe(403);
    expect(await allMemberships()).toEqual(before);
  });

  test('a form with a CSRF token that was issued before the user signed out gets 403', async () => {
    const { browser, page } = await portal.signIn('owner', north);
    const form = { csrf: csrfTokenOf(page), email: 'x@range.example' };
    const signedOut = await browser.send(page, {}, { action: '/sign-out' });
    expect(signedOut.title).toMatch(/^You are signed out/);
    await browser.submit('/portal', { username: 'owner@range.example', password });
    expect((await browser.post(`${north}/invitations`, form)).status).toBe(403);
  });
});

describe('idle and ended sessions', () => {
  test('the form of an idle session changes nothing, and shows the input again after a new sign-in', async () => {
    const { browser, page } = await portal.signIn('owner', north);
    await portal.ageSession('owner', idleMinutes);
    const again = await browser.send(page, { email: 'kept@range.example', role: 'staff' });
    expect(again.title).toMatch(/^Sign in/);
    expect(await portal.server.db('invitation').where({ email: 'kept@range.example' })).toEqual([]);
    const back = await browser.send(again, { username: 'owner@range.example', password });
    expect(back.url.pathname).toBe(north);
    expect(fieldOf(back, 'email')).toBe('kept@range.example');
    expect(back.html).toMatch(/value="staff"[^>]* checked/);
  });
});

test.each([
  '/portal/facilities/..%2Ffac-north',
  '/portal/facilities/%2e%2e/%2e%2e/facilities/fac-south',
  '/portal/facilities/fac-north%00',
  `/portal/facilities/${'x'.repeat(3000)}`,
  '/portal/facilities/fac-north/people/..%2f..%2facc-south-bot/revoke',
  '/portal/nowhere',
])('the path %s gives 404', async (path) => {
  const { browser } = await portal.signIn('owner', north);
  expect((await browser.open(path)).status).toBe(404);
});

test('a path that cannot be decoded gives a page with status 400', async () => {
  const response = await fetch(portal.at('/portal/facilities/%E0%A4%A'));
  expect(response.status).toBe(400);
  expect(response.headers.get('content-type')).toMatch(/^text\/html/);
});

describe('second factors at a facility (docs/sign-in-security.md)', () => {
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
        accountOf(names.owner, { [id]: 'owner' }),
        accountOf(names.staff, { [id]: 'staff' }),
        accountOf(names.bot, { [id]: 'bookings-manager' }, { kind: 'service' }),
      ],
    });
  });

  const asksForSetUp = ({ url }: Page): boolean => url.pathname === '/account/security';
  const setRule = (browser: FormBrowser, page: Page, requireSecondFactor: readonly string[]) =>
    browser.send(page, { requireSecondFactor }, { action: '/second-factor' });

  /** Signs in as an owner with an authenticator app, and requires a second factor. */
  async function requireSecondFactor() {
    const { browser } = await portal.signIn(names.owner, facility);
    const { secret } = await portal.setUpApp(browser);
    await forgetUsedCodes(portal.server);
    const page = await setRule(browser, await browser.open(facility), ['yes']);
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
      for (const path of ['', '/history', `/people/acc-${names.bot}/revoke`])
        expect(asksForSetUp(await browser.open(facility + path))).toBe(true);
      const { page: codes } = await portal.setUpApp(browser, linkTo(page, 'Set up an authenticator app'));
      expect((await browser.open(linkTo(codes, 'saved'))).url.pathname).toBe(facility);
    });

    test('a service account too, before it sees or creates tokens', async () => {
      await requireSecondFactor();
      const { browser, page } = await portal.signIn(names.bot, '/portal');
      expect(asksForSetUp(page)).toBe(true);
      const { page: codes } = await portal.setUpApp(browser, linkTo(page, 'Set up an authenticator app'));
      const created = await browser.submit(linkTo(codes, 'saved'), { name: 'Till', expiresInDays: '30' });
      expect(created.title).toMatch(/^Till is created/);
    });

    test('changes need both factors within ten minutes; pages do not', async () => {
      const { browser, secret } = await requireSecondFactor();
      await portal.ageSession(names.owner, 11);
      const page = await browser.open(facility);
      expect(page.url.pathname).toBe(facility);
      const signIn = await browser.send(page, { email: 'new-bot@range.example' });
      expect(signIn.title).toMatch(/^Confirm that it is you/);
      const asked = await browser.send(signIn, { password: 'demo-person-pass' });
      const back = await browser.send(asked, { code: codeOf(secret) });
      expect([back.url.pathname, back.url.searchParams.get('email')]).toEqual([facility, 'new-bot@range.example']);
      const { html } = await browser.send(back, { email: 'new-bot@range.example' });
      expect(html).toContain('The invitation is on its way');
    });

    test('the last factor cannot be removed, until the rule ends', async () => {
      const { browser, page } = await requireSecondFactor();
      const question = await browser.open('/account/security/authenticator/remove');
      const refused = await browser.send(question, {}, 'Remove');
      expect([refused.status, refused.html.includes('requires a second factor')]).toEqual([409, true]);
      await setRule(browser, page, []);
      const removed = await browser.send(question, {}, 'Remove');
      expect(removed.html).toContain('Authenticator app removed');
    });

    test('staff cannot change the rule', async () => {
      const { browser, page } = await portal.signIn(names.staff, facility);
      expect(page.html).not.toContain('requireSecondFactor');
      const form = { csrf: csrfTokenOf(page), requireSecondFactor: 'yes' };
      expect((await browser.post(`${facility}/second-factor`, form)).status).toBe(403);
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
          accountOf(names.staff, memberships, { name: 'Stella' }),
          accountOf(`other-${count}`, { [other]: 'owner' }),
        ],
      });
      const { browser: member } = await portal.signIn(names.staff, '/account');
      await portal.setUpApp(member);
      const { browser } = await portal.signIn(names.owner, facility);
      const page = await browser.open(`${facility}/people/acc-${names.staff}`);
      expect(textOf(page.html)).toContain('Second factor set up');
      await portal.ageSession(names.owner, 11);
      const proof = await browser.open(linkTo(page, 'Reset the second factor'));
      expect(proof.title).toMatch(/^Confirm that it is you/);
      const question = await browser.send(proof, { password });
      const done = await browser.send(question, {}, 'Reset the second factor');
      expect(textOf(done.html)).toContain('The second factor was reset');

      expect((await member.open('/account')).title).toMatch(/^Sign in/);
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
      const statusOf = async (browser: FormBrowser, name: string) => (await browser.open(resetPath(name))).status;
      expect(await statusOf(staff, names.owner)).toBe(403);
      expect(await statusOf(foreigner, names.owner)).toBe(404);
      expect(await statusOf(owner, names.owner)).toBe(403);
      expect(await statusOf(owner, 'southerner')).toBe(404);
      expect(await portal.server.db('authenticator_app').where({ account_id: `acc-${names.owner}` })).toHaveLength(1);
    });
  });
});
