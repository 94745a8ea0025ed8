// Tests which requests the portal rejects. The response is the sign-in page, a 403 if the user may know the reason, or
// a 404 if the user must not find out that a facility or account exists. The last tests concern a path that cannot be
// decoded, an unknown notice, and the security headers of the pages.
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect, test } from '@jest/globals';
import { accountOf, csrfTokenOf, fieldOf, filled, forged, north, password, startPortal } from './portal-fixture.ts';

// portal-fixture.ts lists the accounts, such as `owner` (an owner of North Range) and `chain` (an owner of both
// facilities). `north` is the path of North Range.
const portal = useFixture(() => startPortal());
// A session that was not used for 120 minutes is idle.
const idleMinutes = 121;

// No invitation inv-x exists. The portal rejects these requests before it looks up the invitation.
const pagesOfNorth = [
  '',
  '/history',
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
const allMemberships = async () => {
  const { rows } = await portal.server.db.raw('select facility_id, account_id, role from membership order by 1, 2');
  return JSON.stringify(rows);
};

describe('the portal requires sign-in', () => {
  test.each(['/portal', north, `${north}/history?page=2`, '/portal/tokens/x/rotate', '/portal/no/such/page'])(
    'the path %s leads to sign-in',
    async (path) => {
      const response = await fetch(portal.at(path), { redirect: 'manual' });
      expect(response.status).toBe(303);
      expect(response.headers.get('location')).toBe(`/sign-in?return=${encodeURIComponent(path)}`);
    },
  );

  test('after signing in, the user returns to the requested page', async () => {
    const { page } = await portal.signIn('owner', `${north}/history`);
    expect(page.url.pathname).toBe(`${north}/history`);
  });

  test.each(['//evil.example/portal', 'https://evil.example/', '/\\evil.example'])(
    'after signing in, the user is never redirected to %s',
    async (elsewhere) => {
      const browser = portal.openBrowser();
      const form = await browser.open(portal.at(`/sign-in?return=${encodeURIComponent(elsewhere)}`));
      const page = await browser.send(form, { username: 'owner@range.example', password });
      expect(page.url.origin).toBe(portal.server.origin);
    },
  );

  test('a form that was sent without a session changes nothing', async () => {
    const before = await allMemberships();
    for (const path of formsOfNorth) {
      const response = await portal.server.post(path, { email: 'x@range.example', role: 'staff' });
      expect(response.status).toBe(303);
      expect(response.headers.get('location')).toMatch(/^\/sign-in\?return=%2Fportal/);
    }
    expect(await allMemberships()).toBe(before);
  });
});

test('the sign-in page names the portal and no facility', async () => {
  const { html } = await portal.openBrowser().open(portal.at(north));
  expect(html).toContain('to continue to <strong>the portal</strong>');
  expect(html).not.toContain('North Range');
});

test('a player without a role reads how to get one, and sees nothing of any facility', async () => {
  const browser = portal.openBrowser();
  const player = { username: 'player@example.com', password: 'demo-player-pass' };
  const page = await browser.send(await browser.open(portal.at('/portal')), player);
  expect(page.status).toBe(403);
  expect(page.html).toContain('Ask its owner to invite');
  expect(page.html).not.toContain('North Range');
  for (const path of pagesOfNorth) expect((await browser.open(portal.at(path))).status).toBe(404);
});

test.each(['nobody', 'southerner', 'bot', 'south-bot'])(
  '%s gets 404 for a facility whose people they may not see, and changes nothing',
  async (name) => {
    const { browser, page } = await portal.signIn(name);
    const before = await allMemberships();
    const nowhere = await browser.open(portal.at('/portal/facilities/fac-nowhere'));
    expect(nowhere.title).toMatch(/^Page not found/);
    for (const path of pagesOfNorth) {
      const response = await browser.open(portal.at(path));
      expect(response.status).toBe(404);
      // The page is the same as for a facility that does not exist.
      expect(response.title).toBe(nowhere.title);
    }
    const csrf = fieldOf(page, 'csrf') as string;
    for (const path of formsOfNorth) {
      const response = await browser.send(forged(page, path, { csrf, email: 'x@range.example', role: 'staff' }), {});
      expect(response.status).toBe(404);
    }
    expect(await allMemberships()).toBe(before);
  },
);

test('an owner of one facility cannot change another one', async () => {
  const { browser, page } = await portal.signIn('owner', north);
  const csrf = csrfTokenOf(page, '/invitations');
  // `forged` creates a form that none of our pages has.
  const revokeAt = (facility: string) =>
    browser.send(forged(page, `${facility}/people/acc-south-bot/revoke`, { csrf }), {});
  expect((await revokeAt('/portal/facilities/fac-south')).status).toBe(404);
  // The path names the facility of the owner, and a member of another facility.
  expect((await revokeAt(north)).status).toBe(404);
});

test('an owner cannot create a personal access token, because only service accounts have them', async () => {
  const { browser, page } = await portal.signIn('owner', north);
  const csrf = csrfTokenOf(page, '/invitations');
  const response = await browser.send(forged(page, '/portal/tokens', { csrf, name: 'Mine', expiresInDays: '30' }), {});
  expect(response.status).toBe(404);
  const { rows } = await portal.server.db.raw("select 1 from client where account_id = 'acc-owner'");
  expect(rows).toEqual([]);
});

describe('the CSRF protection of the portal', () => {
  test.each([
    ['no CSRF token', ''],
    ['a guessed CSRF token', 'AAAA'],
  ])('a form with %s gets 403', async (_title, csrf) => {
    const { browser, page } = await portal.signIn('owner', north);
    const before = await allMemberships();
    for (const path of formsOfNorth) {
      const response = await browser.send(forged(page, path, { csrf, email: 'x@range.example' }), {});
      expect(response.status).toBe(403);
    }
    const bot = await portal.signIn('bot');
    const form = forged(bot.page, '/portal/tokens', { csrf, name: 'x', expiresInDays: '1' });
    expect((await bot.browser.send(form, {})).status).toBe(403);
    expect(await allMemberships()).toBe(before);
  });

  test('a form with the CSRF token of another user gets 403', async () => {
    const { browser, page } = await portal.signIn('owner', north);
    const partner = await portal.signIn('partner', north);
    const csrf = csrfTokenOf(partner.page, '/invitations');
    const form = forged(page, `${north}/invitations`, { csrf, email: 'x@range.example' });
    expect((await browser.send(form, {})).status).toBe(403);
  });

  test('a form with a CSRF token that was issued before the user signed out gets 403', async () => {
    const { browser, page } = await portal.signIn('owner', north);
    const csrf = csrfTokenOf(page, '/invitations');
    const signedOut = await browser.send(filled(page, '/sign-out'), {});
    expect(signedOut.title).toMatch(/^You are signed out/);
    const signIn = await browser.open(portal.at('/portal'));
    const home = await browser.send(signIn, { username: 'owner@range.example', password });
    const form = forged(home, `${north}/invitations`, { csrf, email: 'x@range.example' });
    expect((await browser.send(form, {})).status).toBe(403);
  });

  test('a form from another site gets 403, even with the right CSRF token', async () => {
    const { browser, page } = await portal.signIn('owner', north);
    // The browser of the test takes the header `Origin` from the URL of the page.
    const elsewhere = { ...page, url: new URL('https://evil.example/') };
    expect((await browser.send(filled(elsewhere, '/invitations', { email: 'x@range.example' }), {})).status).toBe(403);
  });
});

describe('idle and ended sessions', () => {
  test('the form of an idle session changes nothing, and shows the input again after a new sign-in', async () => {
    const { browser, page } = await portal.signIn('owner', north);
    await portal.ageSession('owner', idleMinutes);
    for (const path of ['/portal', north, `${north}/people/acc-bot/revoke`]) {
      const response = await browser.open(portal.at(path));
      expect(response.title).toMatch(/^Sign in/);
    }
    const typed = filled(page, '/invitations', { email: 'kept@range.example', role: 'staff' });
    const again = await browser.send(typed, {});
    expect(again.title).toMatch(/^Sign in/);
    const { rows } = await portal.server.db.raw("select 1 from invitation where email = 'kept@range.example'");
    expect(rows).toEqual([]);
    const back = await browser.send(again, { username: 'owner@range.example', password });
    expect(back.url.pathname).toBe(north);
    expect(fieldOf(back, 'email')).toBe('kept@range.example');
    expect(back.html).toMatch(/value="staff"[^>]* checked/);
  });

  test('the session of a disabled account ends', async () => {
    await portal.addAccounts(accountOf('fired', { 'fac-north': 'staff' }));
    const { browser } = await portal.signIn('fired', north);
    await portal.server.db.raw("update account set disabled_at = now() where id = 'acc-fired'");
    expect((await browser.open(portal.at(north))).title).toMatch(/^Sign in/);
  });
});

test.each([
  '/portal/facilities/..%2Ffac-north',
  '/portal/facilities/fac-north%2F..%2Ffac-south',
  '/portal/facilities/%2e%2e/%2e%2e/facilities/fac-south',
  '/portal/facilities/fac-north%00',
  `/portal/facilities/${'x'.repeat(3000)}`,
  '/portal/facilities/fac-north/people/%00/revoke',
  '/portal/facilities/fac-north/people/..%2f..%2facc-south-bot/revoke',
  "/portal/facilities/' or 1=1 --",
  '/portal/nowhere',
])('the path %s gives 404', async (path) => {
  const { browser } = await portal.signIn('owner', north);
  expect((await browser.open(portal.at(path))).status).toBe(404);
});

test('a path that cannot be decoded gives a page with status 400', async () => {
  const response = await fetch(portal.at('/portal/facilities/%E0%A4%A'));
  expect(response.status).toBe(400);
  expect(response.headers.get('content-type')).toMatch(/^text\/html/);
});

test.each(['/account?done=constructor', '/portal?notice=constructor', `${north}?notice=constructor`])(
  'the page %s shows no notice, because the query names none',
  async (path) => {
    const { browser } = await portal.signIn(path.startsWith('/portal?') ? 'bot' : 'owner', north);
    const page = await browser.open(portal.at(path));
    expect(page.status).toBe(200);
    expect(page.html).not.toContain('native code');
  },
);

test('the headers of a page allow only our own script, and nothing from other origins', async () => {
  const { page } = await portal.signIn('owner', north);
  const policy = page.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(page.html).not.toMatch(/style="|\son\w+="|<script(?![^>]*\ssrc="\/assets\/)/);
  const script = /<script src="([^"]+)" defer><\/script>/.exec(page.html)?.[1] as string;
  const response = await fetch(portal.at(script));
  expect(response.headers.get('content-type')).toMatch(/^text\/javascript/);
  expect(response.headers.get('cache-control')).toContain('immutable');
});
