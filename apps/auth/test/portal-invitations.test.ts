// Specification, "Bookings API access" 1: a facility owner or authorized staff invites a Service Account; contract section 5.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fieldOf, filled, forged, openPortalWorld, type PortalWorld, password, tokenOf } from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await openPortalWorld();
});
afterAll(() => world.close());

const north = '/portal/facilities/fac-north';
const invite = async (email: string, { by = 'owner', role }: { by?: string; role?: string } = {}) => {
  const { browser, page } = await world.signIn(by, north);
  const sent = await browser.send(filled(page, '/invitations', { email, ...(role && { role }) }), {});
  return { browser, page: sent };
};
const rolesOf = async (username: string) => {
  const { rows } = await world.server.db.raw<{ rows: { facility_id: string; role: string; kind: string }[] }>(
    `select m.facility_id, m.role, a.kind from account a join membership m on m.account_id = a.id
      where lower(a.username) = lower(?) order by 1`,
    [username],
  );
  return rows.map(({ facility_id, role, kind }) => `${facility_id} ${role} ${kind}`);
};
const newcomer = { name: 'Booking site', password: 'seven unusual lamps' };

describe('a facility owner or authorized staff invites a service account with the Bookings Manager role', () => {
  test.each(['owner', 'staff'])('by the field `email`: %s', async (by) => {
    const email = `till-of-${by}@range.example`;
    const { page } = await invite(email, { by });
    expect(page.status).toBe(200);
    expect(page.html).toContain('The invitation is on its way');
    expect(page.html).toContain(email);

    const mail = await world.sink.mailTo(email);
    expect(mail.subject).toContain('North Range');
    const visitor = world.visitor();
    const join = await visitor.open(await world.linkFor(email));
    expect(join.status).toBe(200);
    expect(join.headers.get('cache-control')).toBe('no-store');
    expect(join.html).toContain('North Range');
    const portal = await visitor.send(filled(join, '/portal/invitation', newcomer), {});
    expect(portal.url.pathname).toBe('/portal');
    expect(portal.html).toContain('North Range');
    expect(portal.forms.some(({ fields }) => fields.some(({ name }) => name === 'expiresInDays'))).toBe(true);
    expect(await rolesOf(email)).toEqual(['fac-north bookings-manager service']);
    const { rows } = await world.server.db.raw('select email_verified, roles from account where username = ?', [email]);
    expect(rows).toEqual([{ email_verified: true, roles: [] }]);
  });

  test('the link is kept as its SHA-256 alone, and no log line has it', async () => {
    await invite('hashed@range.example');
    const token = new URL(await world.linkFor('hashed@range.example')).searchParams.get('token') as string;
    const { rows } = await world.server.db.raw('select i::text as row from invitation i');
    expect(JSON.stringify(rows)).not.toContain(token);
    await world.visitor().open(await world.linkFor('hashed@range.example'));
    expect(world.server.log.join('\n')).not.toContain(token);
  });

  test('a password that is too easy is told beside its field, and the name is kept', async () => {
    await invite('careless@range.example');
    const visitor = world.visitor();
    const join = await visitor.open(await world.linkFor('careless@range.example'));
    const page = await visitor.send(filled(join, '/portal/invitation', { name: 'My till', password: 'password1' }), {});
    expect(page.status).toBe(400);
    expect(page.html).toContain('id="password-error"');
    expect(fieldOf(page, 'name')).toBe('My till');
    expect(page.html).not.toContain('password1');
    expect(await rolesOf('careless@range.example')).toEqual([]);
  });

  test('a service account needs no name of its own: its address stands for it', async () => {
    await invite('nameless@range.example');
    const visitor = world.visitor();
    const join = await visitor.open(await world.linkFor('nameless@range.example'));
    await visitor.send(filled(join, '/portal/invitation', { password: newcomer.password }), {});
    expect(await rolesOf('nameless@range.example')).toEqual(['fac-north bookings-manager service']);
    const { page } = await world.signIn('owner', north);
    expect(page.html).toContain('nameless@range.example');
  });

  test('an existing service account accepts by signing in, and keeps its other roles', async () => {
    await invite('south-bot@range.example');
    const link = await world.linkFor('south-bot@range.example');
    const visitor = world.visitor();
    const page = await visitor.open(link);
    expect(page.html).toContain('There is an account for this address already');
    const signIn = await visitor.open(page.links.find(({ text }) => text === 'Sign in to accept')?.href ?? '');
    const accept = await visitor.send(signIn, { username: 'south-bot@range.example', password });
    expect(accept.url.href).toBe(link);
    expect(await rolesOf('south-bot@range.example')).toEqual(['fac-south bookings-manager service']);
    const portal = await visitor.send(filled(accept, '/portal/invitation'), {});
    expect(portal.url.pathname).toBe('/portal');
    expect(await rolesOf('south-bot@range.example')).toEqual([
      'fac-north bookings-manager service',
      'fac-south bookings-manager service',
    ]);
  });

  test('somebody signed in as another account is told so, and accepts nothing', async () => {
    await world.server.load({
      accounts: [{ id: 'acc-third-bot', username: 'third-bot@range.example', password, kind: 'service' }],
    });
    await invite('third-bot@range.example');
    const link = await world.linkFor('third-bot@range.example');
    const { browser } = await world.signIn('bot');
    const page = await browser.open(link);
    expect(page.html).toContain('but the invitation is for');
    await invite('some-newcomer@range.example');
    const other = await browser.open(await world.linkFor('some-newcomer@range.example'));
    const csrf = tokenOf(other, '/portal/invitation');
    expect((await browser.send(forged(page, link, { accept: 'signed-in' }), {})).status).toBe(403);
    const refused = await browser.send(forged(page, link, { csrf, accept: 'signed-in' }), {});
    expect(refused.status).toBe(409);
    expect(await rolesOf('third-bot@range.example')).toEqual([]);
  });

  test('a person’s account is refused in plain words, when invited and when accepting', async () => {
    const { page } = await invite('nobody@range.example');
    expect(page.status).toBe(409);
    expect(page.html).toContain('belongs to a person’s account');
    expect(fieldOf(page, 'email')).toBe('nobody@range.example');

    await invite('late@range.example');
    await world.server.load({ accounts: [{ id: 'acc-late', username: 'Late@range.example', password }] });
    const refused = await world.visitor().open(await world.linkFor('late@range.example'));
    expect(refused.status).toBe(409);
    expect(refused.html).toContain('is the address of a person’s account');
    expect(await rolesOf('late@range.example')).toEqual([]);
  });
});

describe('an owner invites a person as staff', () => {
  test('who becomes staff with an account of their own', async () => {
    await invite('greenkeeper@range.example', { role: 'staff' });
    const visitor = world.visitor();
    const join = await visitor.open(await world.linkFor('greenkeeper@range.example'));
    const portal = await visitor.send(filled(join, '/portal/invitation', { ...newcomer, name: 'Greta Green' }), {});
    expect(portal.url.pathname).toBe(north);
    expect(await rolesOf('greenkeeper@range.example')).toEqual(['fac-north staff user']);
  });

  test('who must have a name', async () => {
    await invite('unnamed@range.example', { role: 'staff' });
    const visitor = world.visitor();
    const join = await visitor.open(await world.linkFor('unnamed@range.example'));
    const page = await visitor.send(filled(join, '/portal/invitation', { password: newcomer.password }), {});
    expect(page.status).toBe(400);
    expect(page.html).toContain('id="name-error"');
  });

  test('staff may not, whatever the form says', async () => {
    const { page } = await invite('pal@range.example', { by: 'staff', role: 'staff' });
    expect(page.status).toBe(403);
    const { page: owner } = await invite('pal@range.example', { role: 'owner' });
    expect(owner.status).toBe(400);
    const { rows } = await world.server.db.raw("select 1 from invitation where email = 'pal@range.example'");
    expect(rows).toEqual([]);
  });
});

describe('the form of an invitation', () => {
  test.each(['', 'not an address', 'two@a.example, three@b.example', 'a@b.example\nBcc: c@d.example'])(
    'refuses %j beside its field and keeps it',
    async (email) => {
      const { page } = await invite(email);
      expect(page.status).toBe(400);
      expect(page.html).toContain('id="email-error"');
      expect(page.title).toMatch(/^Error: /);
    },
  );

  test('says when the address has a role or an open invitation already', async () => {
    expect((await invite('BOT@range.example')).page.html).toContain('has a role here already');
    await invite('twice@range.example');
    const { page } = await invite('Twice@range.example');
    expect(page.status).toBe(409);
    expect(page.html).toContain('has an open invitation already');
  });

  test('is bounded, so that nobody’s mailbox is flooded', async () => {
    const { browser, page } = await world.signIn('owner', north);
    let last = await browser.send(filled(page, '/invitations', { email: 'flooded@range.example' }), {});
    for (let tries = 0; tries < 12 && last.status !== 429; tries++) {
      const { rows } = await world.server.db.raw("select id from invitation where email = 'flooded@range.example'");
      const facility = await browser.open(world.server.origin + north);
      last = await browser.send(filled(facility, `/invitations/${rows[0].id}/resend`), {});
    }
    expect(last.status).toBe(429);
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('a link that no longer works says why and what to do next', () => {
  test('replayed', async () => {
    await invite('replayed@range.example');
    const link = await world.linkFor('replayed@range.example');
    const visitor = world.visitor();
    const join = await visitor.open(link);
    await visitor.send(filled(join, '/portal/invitation', newcomer), {});
    for (const again of [
      await world.visitor().open(link),
      await visitor.send(filled(join, '/portal/invitation', newcomer), {}),
    ]) {
      expect(again.status).toBe(410);
      expect(again.html).toContain('It was accepted already');
    }
  });

  test('expired, until it is sent again', async () => {
    await invite('expired@range.example');
    const link = await world.linkFor('expired@range.example');
    await world.server.db.raw("update invitation set expires_at = now() where email = 'expired@range.example'");
    const page = await world.visitor().open(link);
    expect(page.status).toBe(410);
    expect(page.html).toContain('Ask North Range to send it again');
    const { page: facility } = await invite('expired@range.example');
    expect(facility.html).toContain('The invitation is on its way');
    expect((await world.visitor().open(await world.linkFor('expired@range.example', link))).status).toBe(200);
  });

  test('sent again: the earlier link ends', async () => {
    const { browser, page } = await invite('again@range.example');
    const first = await world.linkFor('again@range.example');
    const resend = page.forms.find(
      ({ action }) => action.endsWith('/resend') && page.html.includes('again@range.example'),
    );
    const { rows } = await world.server.db.raw("select id from invitation where email = 'again@range.example'");
    expect(resend).toBeDefined();
    await browser.send(filled(page, `/invitations/${rows[0].id}/resend`), {});
    const second = await world.linkFor('again@range.example', first);
    expect((await world.visitor().open(first)).status).toBe(410);
    expect((await world.visitor().open(second)).status).toBe(200);
  });

  test('withdrawn, after a page that asks', async () => {
    const { browser, page } = await invite('withdrawn@range.example');
    const { rows } = await world.server.db.raw("select id from invitation where email = 'withdrawn@range.example'");
    const confirm = await browser.open(
      page.links.find(({ href }) => href.endsWith(`${rows[0].id}/withdraw`))?.href ?? '',
    );
    expect(confirm.title).toMatch(/^Withdraw/);
    const done = await browser.send(filled(confirm, '/withdraw'), {});
    expect(done.html).toContain('The invitation is withdrawn');
    expect((await browser.send(filled(confirm, '/withdraw'), {})).status).toBe(409);
    const refused = await world.visitor().open(await world.linkFor('withdrawn@range.example'));
    expect(refused.status).toBe(410);
    expect(refused.html).toContain('North Range has withdrawn it');
  });

  test.each([
    ['nothing', ''],
    ['an empty one', '?token='],
    ['a guess', '?token=guessed'],
    ['two', '?token=a&token=b'],
    ['a long one', `?token=${'x'.repeat(5000)}`],
  ])('never made: %s', async (_what, query) => {
    const page = await world.visitor().open(`${world.server.origin}/portal/invitation${query}`);
    expect(page.status).toBe(410);
    expect(page.html).toContain('It was not copied whole');
  });
});

test('of many acceptances at once one makes the account, and the others are told', async () => {
  await invite('raced@range.example');
  const link = await world.linkFor('raced@range.example');
  const visitors = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const browser = world.visitor();
      return { browser, page: filled(await browser.open(link), '/portal/invitation', newcomer) };
    }),
  );
  const answers = await Promise.all(visitors.map(({ browser, page }) => browser.send(page, {})));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410, 410, 410]);
  expect(await rolesOf('raced@range.example')).toEqual(['fac-north bookings-manager service']);
});

test('open invitations end with the role that made them', async () => {
  await world.server.load({
    accounts: [
      {
        id: 'acc-leaver',
        username: 'leaver@range.example',
        password,
        memberships: [{ facilityId: 'fac-north', role: 'staff' }],
      },
    ],
  });
  await invite('backdoor@range.example', { by: 'leaver' });
  const { browser, page } = await world.signIn('owner', `${north}/people/acc-leaver/revoke`);
  expect((await browser.send(filled(page, '/revoke'), {})).status).toBe(200);
  expect((await world.visitor().open(await world.linkFor('backdoor@range.example'))).status).toBe(410);
  const history = await browser.open(`${world.server.origin + north}/history`);
  expect(history.html).toContain('withdrew the invitation of backdoor@range.example');
});
