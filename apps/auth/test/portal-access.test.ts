// Who is refused in the portal, and how: sign-in, 403 where it helps to know why, 404 where even the existence is none of their business.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fieldOf, filled, forged, openPortalWorld, type PortalWorld, password, tokenOf } from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await openPortalWorld();
});
afterAll(() => world.close());

const north = '/portal/facilities/fac-north';
const at = (path: string) => world.server.origin + path;
const pagesOfNorth = [
  '',
  '/history',
  '/people/acc-bot/revoke',
  '/people/acc-staff/role',
  '/invitations/inv-x/withdraw',
];
const postsOfNorth = ['/invitations', '/people/acc-bot/revoke', '/people/acc-staff/role', '/invitations/inv-x/resend'];
const members = async () => {
  const { rows } = await world.server.db.raw('select facility_id, account_id, role from membership order by 1, 2');
  return JSON.stringify(rows);
};

describe('without a session', () => {
  test.each(['/portal', north, `${north}/history?page=2`, '/portal/tokens/x/rotate', '/portal/no/such/page'])(
    '%s leads to sign-in',
    async (path) => {
      const answer = await fetch(at(path), { redirect: 'manual' });
      expect(answer.status).toBe(303);
      expect(answer.headers.get('location')).toBe(`/sign-in?return=${encodeURIComponent(path)}`);
    },
  );

  test('and back to where one wanted to go', async () => {
    const { page } = await world.signIn('owner', `${north}/history`);
    expect(page.url.pathname).toBe(`${north}/history`);
  });

  test.each(['//evil.example/portal', 'https://evil.example/', '/\\evil.example'])(
    'but never to %s',
    async (elsewhere) => {
      const browser = world.visitor();
      const form = await browser.open(at(`/sign-in?return=${encodeURIComponent(elsewhere)}`));
      const page = await browser.send(form, { username: 'owner@range.example', password });
      expect(page.url.origin).toBe(world.server.origin);
    },
  );

  test('a forged post changes nothing', async () => {
    const before = await members();
    for (const path of postsOfNorth) {
      const answer = await world.server.post(north + path, { email: 'x@range.example', role: 'staff' });
      expect(answer.status).toBe(303);
      expect(answer.headers.get('location')).toMatch(/^\/sign-in\?return=%2Fportal/);
    }
    expect(await members()).toBe(before);
  });
});

describe('a player', () => {
  test('is told how to get a role, and sees nothing of any facility', async () => {
    const browser = world.visitor();
    const page = await browser.send(await browser.open(at('/portal')), {
      username: 'player@example.com',
      password: 'demo-player-pass',
    });
    expect(page.status).toBe(403);
    expect(page.html).toContain('Ask its owner to invite');
    expect(page.html).not.toContain('North Range');
    for (const path of pagesOfNorth) expect((await browser.open(at(north + path))).status).toBe(404);
  });
});

describe.each(['nobody', 'southerner', 'bot', 'south-bot'])('%s', (name) => {
  test('finds nothing at a facility where they may not see the people, and changes nothing', async () => {
    const { browser, page } = await world.signIn(name);
    const before = await members();
    const nowhere = await browser.open(at('/portal/facilities/fac-nowhere'));
    for (const path of pagesOfNorth) {
      const answer = await browser.open(at(north + path));
      expect(answer.status).toBe(404);
      // The same words as for a facility that does not exist.
      expect(answer.title).toBe(nowhere.title);
    }
    const csrf = page.forms[0]?.fields.find((field) => field.name === 'csrf')?.value as string;
    for (const path of postsOfNorth) {
      const answer = await browser.send(
        forged(page, north + path, { csrf, email: 'x@range.example', role: 'staff' }),
        {},
      );
      expect(answer.status).toBe(404);
    }
    expect(await members()).toBe(before);
  });
});

test('an owner of one facility changes nothing at another through its address', async () => {
  const { browser, page } = await world.signIn('owner', north);
  const csrf = tokenOf(page, '/invitations');
  const south = '/portal/facilities/fac-south';
  expect((await browser.send(forged(page, `${south}/people/acc-south-bot/revoke`, { csrf }), {})).status).toBe(404);
  // Their own facility in the address, somebody else's person.
  expect((await browser.send(forged(page, `${north}/people/acc-south-bot/revoke`, { csrf }), {})).status).toBe(404);
});

test('people have no personal access tokens of their own', async () => {
  const { browser, page } = await world.signIn('owner', north);
  const csrf = tokenOf(page, '/invitations');
  const answer = await browser.send(forged(page, '/portal/tokens', { csrf, name: 'Mine', expiresInDays: '30' }), {});
  expect(answer.status).toBe(404);
  const { rows } = await world.server.db.raw("select 1 from client where account_id = 'acc-owner'");
  expect(rows).toEqual([]);
});

describe('a post without the token of its form', () => {
  test.each([
    ['none', ''],
    ['a guess', 'AAAA'],
  ])('is 403 with %s', async (_what, csrf) => {
    const { browser, page } = await world.signIn('owner', north);
    const before = await members();
    for (const path of postsOfNorth) {
      const answer = await browser.send(forged(page, north + path, { csrf, email: 'x@range.example' }), {});
      expect(answer.status).toBe(403);
    }
    const bot = await world.signIn('bot');
    expect(
      (await bot.browser.send(forged(bot.page, '/portal/tokens', { csrf, name: 'x', expiresInDays: '1' }), {})).status,
    ).toBe(403);
    expect(await members()).toBe(before);
  });

  test('is 403 with that of somebody else', async () => {
    const owner = await world.signIn('owner', north);
    const partner = await world.signIn('partner', north);
    const csrf = tokenOf(partner.page, '/invitations');
    const answer = await owner.browser.send(
      forged(owner.page, `${north}/invitations`, { csrf, email: 'x@range.example' }),
      {},
    );
    expect(answer.status).toBe(403);
  });

  test('is 403 with one from before signing in again', async () => {
    const { browser, page } = await world.signIn('owner', north);
    const csrf = tokenOf(page, '/invitations');
    const signedOut = await browser.send(filled(page, '/sign-out'), {});
    const home = await browser.send(await browser.open(at('/portal')), { username: 'owner@range.example', password });
    expect(signedOut.title).toMatch(/^You are signed out/);
    const answer = await browser.send(forged(home, `${north}/invitations`, { csrf, email: 'x@range.example' }), {});
    expect(answer.status).toBe(403);
  });

  test('is 403 from another site, even with the right one', async () => {
    const { browser, page } = await world.signIn('owner', north);
    const elsewhere = { ...page, url: new URL('https://evil.example/') };
    expect((await browser.send(filled(elsewhere, '/invitations', { email: 'x@range.example' }), {})).status).toBe(403);
  });
});

describe('a session ends after idleness', () => {
  test('nothing is shown or done until somebody signs in again, however often the page is opened', async () => {
    const { browser, page } = await world.signIn('owner', north);
    await world.age('owner', 121);
    for (const path of ['/portal', north, `${north}/people/acc-bot/revoke`]) {
      const answer = await browser.open(at(path));
      expect(answer.title).toMatch(/^Confirm that it is you/);
    }
    const typed = filled(page, '/invitations', { email: 'kept@range.example', role: 'staff' });
    const again = await browser.send(typed, {});
    expect(again.title).toMatch(/^Confirm that it is you/);
    const { rows } = await world.server.db.raw("select 1 from invitation where email = 'kept@range.example'");
    expect(rows).toEqual([]);
    const back = await browser.send(again, { password });
    expect(back.url.pathname).toBe(north);
    expect(fieldOf(back, 'email')).toBe('kept@range.example');
    expect(back.html).toMatch(/<option value="staff" selected/);
  });

  test('an account that was disabled meanwhile is signed out', async () => {
    await world.server.load({
      accounts: [
        {
          id: 'acc-fired',
          username: 'fired@range.example',
          password,
          memberships: [{ facilityId: 'fac-north', role: 'staff' }],
        },
      ],
    });
    const { browser } = await world.signIn('fired', north);
    await world.server.db.raw("update account set disabled_at = now() where id = 'acc-fired'");
    expect((await browser.open(at(north))).title).toMatch(/^Sign in/);
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
])('no way around by %s', async (path) => {
  const { browser } = await world.signIn('owner', north);
  expect((await browser.open(at(path))).status).toBe(404);
});

test('an address that cannot be read is 400, in a page', async () => {
  const answer = await fetch(at('/portal/facilities/%E0%A4%A'));
  expect(answer.status).toBe(400);
  expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
});

test('a page has headers that let it run no script but our own and load nothing from elsewhere', async () => {
  const { page } = await world.signIn('owner', north);
  const policy = page.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(page.html).not.toMatch(/style="|\son\w+="|<script(?![^>]*\ssrc="\/assets\/)/);
  const script = /<script src="([^"]+)" defer><\/script>/.exec(page.html)?.[1] as string;
  const answer = await fetch(at(script));
  expect(answer.headers.get('content-type')).toMatch(/^text\/javascript/);
  expect(answer.headers.get('cache-control')).toContain('immutable');
});
