// Who may change whose role, what a revoked role stops, and the history of it all. Contract section 5.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { filled, forged, openPortalWorld, type PortalWorld, tokenOf } from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await openPortalWorld();
});
afterAll(() => world.close());

const north = '/portal/facilities/fac-north';
const south = '/portal/facilities/fac-south';
const personPath = (name: string, what: 'role' | 'revoke', facility = north) =>
  `${facility}/people/acc-${name}/${what}`;
const roleOf = async (name: string, facility = 'fac-north'): Promise<string | undefined> => {
  const { rows } = await world.server.db.raw('select role from membership where facility_id = ? and account_id = ?', [
    facility,
    `acc-${name}`,
  ]);
  return rows[0]?.role;
};
const textOf = (html: string) => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
const newRange = async (
  id: string,
  owners: readonly string[],
  rest: Record<string, 'staff' | 'bookings-manager'> = {},
) => {
  const account = (name: string, role: 'owner' | 'staff' | 'bookings-manager', kind: 'user' | 'service') => ({
    id: `acc-${name}`,
    username: `${name}@range.example`,
    password: 'demo-person-pass',
    name,
    kind,
    memberships: [{ facilityId: id, role }],
  });
  await world.server.load({
    facilities: [{ id, name: `Range ${id}` }],
    accounts: [
      ...owners.map((name) => account(name, 'owner', 'user')),
      ...Object.entries(rest).map(([name, role]) => account(name, role, role === 'staff' ? 'user' : 'service')),
    ],
  });
};

describe('an owner or staff member sees the facility’s people', () => {
  test('an owner may change everybody’s role, staff those of service accounts', async () => {
    const owner = (await world.signIn('owner', north)).page;
    expect(textOf(owner.html)).toContain('You are Owner here');
    expect(owner.html).toContain(personPath('partner', 'role'));
    expect(owner.html).toContain(personPath('bot', 'revoke'));
    const staff = (await world.signIn('staff', north)).page;
    expect(staff.html).toContain(personPath('bot', 'revoke'));
    expect(staff.html).not.toContain(personPath('partner', 'role'));
    expect(staff.html).not.toContain(personPath('partner', 'revoke'));
    expect(staff.html).not.toContain('<select');
  });

  test('one of several facilities is chosen first', async () => {
    const { browser, page } = await world.signIn('chain');
    expect(page.url.pathname).toBe('/portal');
    const chosen = await browser.open(page.links.find(({ text }) => text === 'South Range')?.href ?? '');
    expect(chosen.title).toMatch(/^South Range/);
  });

  test('every page for someone signed in offers to sign out', async () => {
    const { browser } = await world.signIn('owner');
    for (const path of [
      north,
      `${north}/history`,
      personPath('bot', 'revoke'),
      '/portal/nowhere',
      `${south}/history`,
    ]) {
      const page = await browser.open(world.server.origin + path);
      expect(page.forms.some(({ action }) => action.endsWith('/sign-out'))).toBe(true);
    }
  });
});

describe('roles change', () => {
  test('staff becomes owner, and staff again', async () => {
    await newRange('fac-promotion', ['boss'], { deputy: 'staff' });
    const facility = '/portal/facilities/fac-promotion';
    const { browser, page } = await world.signIn('boss', personPath('deputy', 'role', facility));
    expect((await browser.send(filled(page, '/role', { role: 'owner' }), {})).html).toContain('The role is changed');
    expect(await roleOf('deputy', 'fac-promotion')).toBe('owner');
    const back = await browser.open(world.server.origin + personPath('deputy', 'role', facility));
    await browser.send(filled(back, '/role', { role: 'staff' }), {});
    expect(await roleOf('deputy', 'fac-promotion')).toBe('staff');
  });

  test.each(['owner', 'bookings-manager', 'emperor', ''])('but staff makes nobody %j', async (role) => {
    const { browser, page } = await world.signIn('staff', north);
    const csrf = tokenOf(page, '/invitations');
    const answer = await browser.send(forged(page, personPath('staff', 'role'), { csrf, role }), {});
    expect(answer.status).toBe(403);
    expect(await roleOf('staff')).toBe('staff');
  });

  test('a service account is Bookings Manager and nothing else', async () => {
    const { browser, page } = await world.signIn('owner', north);
    const csrf = tokenOf(page, '/invitations');
    const answer = await browser.send(forged(page, personPath('bot', 'role'), { csrf, role: 'owner' }), {});
    expect(answer.status).toBe(403);
    expect(await roleOf('bot')).toBe('bookings-manager');
  });

  test.each(['owner', 'partner'])('staff does not revoke the %s’s role', async (name) => {
    const { browser, page } = await world.signIn('staff', north);
    const csrf = tokenOf(page, '/invitations');
    expect((await browser.open(world.server.origin + personPath(name, 'revoke'))).status).toBe(403);
    expect((await browser.send(forged(page, personPath(name, 'revoke'), { csrf }), {})).status).toBe(403);
    expect(await roleOf(name)).toBe('owner');
  });
});

describe('the last owner of a facility cannot be removed', () => {
  test('neither by leaving nor by becoming staff', async () => {
    await newRange('fac-single', ['single']);
    const facility = '/portal/facilities/fac-single';
    const { browser, page } = await world.signIn('single', personPath('single', 'revoke', facility));
    const refused = await browser.send(filled(page, '/revoke'), {});
    expect(refused.status).toBe(409);
    expect(refused.html).toContain('You are the last owner of Range fac-single');
    const role = await browser.open(world.server.origin + personPath('single', 'role', facility));
    expect((await browser.send(filled(role, '/role', { role: 'staff' }), {})).status).toBe(409);
    expect(await roleOf('single', 'fac-single')).toBe('owner');
  });

  test('an owner whose account is disabled is none', async () => {
    await newRange('fac-gone', ['present', 'gone']);
    await world.server.db.raw("update account set disabled_at = now() where id = 'acc-gone'");
    const { browser, page } = await world.signIn(
      'present',
      personPath('present', 'revoke', '/portal/facilities/fac-gone'),
    );
    expect((await browser.send(filled(page, '/revoke'), {})).status).toBe(409);
  });

  test('nor by two owners who remove each other at once, ten times over', async () => {
    for (let round = 0; round < 10; round++) {
      const id = `fac-duel-${round}`;
      const names = [`left-${round}`, `right-${round}`] as const;
      await newRange(id, names);
      const duel = await Promise.all(
        names.map(async (name, index) => {
          const other = names[1 - index] as string;
          const path = personPath(other, 'revoke', `/portal/facilities/${id}`);
          const { browser, page } = await world.signIn(name, path);
          return () => browser.send(filled(page, '/revoke'), {});
        }),
      );
      const statuses = (await Promise.all(duel.map((fire) => fire()))).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      const { rows } = await world.server.db.raw("select 1 from membership where facility_id = ? and role = 'owner'", [
        id,
      ]);
      expect(rows).toHaveLength(1);
    }
  });
});

describe('a revoked role stops new access tokens at once', () => {
  const tokenFor = async (name: string) => {
    await world.server.load({
      clients: [{ client_id: `pat-${name}`, client_secret: `secret-of-${name}`, accountId: `acc-${name}`, name }],
    });
    return () => world.token(`pat-${name}`, `secret-of-${name}`);
  };

  test('after a page that says how long an issued one still lives', async () => {
    const ask = await tokenFor('bot');
    const before = await ask();
    expect(world.facilitiesIn(before)).toEqual(['fac-north']);
    const { browser, page } = await world.signIn('staff', personPath('bot', 'revoke'));
    expect(textOf(page.html)).toContain('goes on until it expires: 1 hour at most');
    expect(textOf(page.html)).toContain('1 live token');
    const done = await browser.send(filled(page, '/revoke'), {});
    expect(done.html).toContain('The role is revoked');
    expect(await ask()).toMatchObject({ status: 400, error: 'invalid_scope' });
    expect((await browser.send(filled(page, '/revoke'), {})).status).toBe(404);
  });

  test('and leaves the roles at other facilities', async () => {
    await newRange('fac-extra', ['extra-owner'], { 'double-bot': 'bookings-manager' });
    await world.server.db.raw("insert into membership values ('fac-south', 'acc-double-bot', 'bookings-manager')");
    const ask = await tokenFor('double-bot');
    expect(world.facilitiesIn(await ask())).toEqual(['fac-extra', 'fac-south']);
    const path = personPath('double-bot', 'revoke', '/portal/facilities/fac-extra');
    const { browser, page } = await world.signIn('extra-owner', path);
    await browser.send(filled(page, '/revoke'), {});
    expect(world.facilitiesIn(await ask())).toEqual(['fac-south']);
  });

  test('so does an account that is disabled or removed', async () => {
    const ask = await tokenFor('south-bot');
    expect(await ask()).toMatchObject({ status: 200 });
    await world.server.db.raw("update account set disabled_at = now() where id = 'acc-south-bot'");
    expect(await ask()).toMatchObject({ status: 401, error: 'invalid_client' });
    await world.server.db.raw("update account set disabled_at = null where id = 'acc-south-bot'");
    expect(await ask()).toMatchObject({ status: 200 });
    await world.server.db.raw("delete from account where id = 'acc-south-bot'");
    expect(await ask()).toMatchObject({ status: 401, error: 'invalid_client' });
  });
});

describe('every change is shown as the facility’s history', () => {
  test('in plain words, with who, when and from where', async () => {
    await newRange('fac-story', ['teller'], { 'story-bot': 'bookings-manager', helper: 'staff' });
    const facility = '/portal/facilities/fac-story';
    const { browser, page } = await world.signIn('teller', facility);
    await browser.send(filled(page, '/invitations', { email: 'Site@range.example' }), {});
    const open = await browser.open(world.server.origin + facility);
    await browser.send(filled(open, '/resend'), {});
    const withdraw = await browser.open(open.links.find(({ href }) => href.endsWith('/withdraw'))?.href ?? '');
    await browser.send(filled(withdraw, '/withdraw'), {});
    const role = await browser.open(world.server.origin + personPath('helper', 'role', facility));
    await browser.send(filled(role, '/role', { role: 'owner' }), {});
    const bot = await world.signIn('story-bot');
    await bot.browser.send(filled(bot.page, '/portal/tokens', { name: 'Till' }), {});
    const revoke = await browser.open(world.server.origin + personPath('story-bot', 'revoke', facility));
    await browser.send(filled(revoke, '/revoke'), {});

    const history = await browser.open(`${world.server.origin + facility}/history`);
    const text = textOf(history.html);
    const told = [
      'teller revoked the role Bookings Manager of story-bot.',
      'story-bot created the personal access token “Till”, good for 90 days.',
      'teller changed the role of helper from Staff to Owner.',
      'teller withdrew the invitation of Site@range.example as Bookings Manager.',
      'teller sent Site@range.example the invitation as Bookings Manager again.',
      'teller invited Site@range.example as Bookings Manager.',
    ];
    const places = told.map((line) => text.indexOf(line));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(text).toContain('from 127.0.0.1');
    expect(history.html).toMatch(
      /<time datetime="(\d{4}-\d\d-\d\dT[\d:.]+Z)" title="\1">\d+ \w+ \d{4}, \d\d:\d\d UTC<\/time>/,
    );
  });

  test('by pages', async () => {
    await newRange('fac-long', ['chronicler']);
    await world.server.db.raw(
      `insert into audit_event (at, kind, account_id, facility_id, detail)
       select now() - make_interval(secs => n), 'invitation.sent', 'acc-chronicler', 'fac-long',
              jsonb_build_object('email', 'n' || n || '@range.example', 'role', 'staff')
         from generate_series(1, 60) n`,
    );
    const path = '/portal/facilities/fac-long/history';
    const { browser, page } = await world.signIn('chronicler', path);
    expect(page.html).toContain('n1@');
    expect(page.html).not.toContain('n26@');
    const second = await browser.open(page.links.find(({ text }) => text === 'Older')?.href ?? '');
    expect(second.html).toContain('n26@');
    const third = await browser.open(second.links.find(({ text }) => text === 'Older')?.href ?? '');
    expect(third.html).toContain('n60@');
    expect(third.links.some(({ text }) => text === 'Older')).toBe(false);
    expect((await browser.open(`${world.server.origin + path}?page=4`)).html).toContain('There is nothing older');
    for (const bad of ['0', '-1', '1.5', 'x', '999999999999']) {
      expect((await browser.open(`${world.server.origin + path}?page=${bad}`)).status).toBe(404);
    }
  });
});
