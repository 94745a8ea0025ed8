// Specification, "Bookings API access" 2 and 3: a service account creates a personal access token, which yields a client_id and a
// client_secret; contract section 5.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { FormBrowser, Page } from '@bay-booking/testkit/form-browser';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from './auth-server.ts';
import {
  fieldOf,
  filled,
  forged,
  openPortalWorld,
  type PortalWorld,
  password,
  textById,
  tokenOf,
} from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await openPortalWorld();
});
afterAll(() => world.close());

const textOf = (html: string) => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
const unescaped = (text: string) => text.replaceAll('&#39;', "'").replaceAll('&amp;', '&');

/** A service account of its own for each test. */
let name: string;
let made = 0;
beforeEach(async () => {
  name = `bot-${++made}`;
  await world.server.load({
    accounts: [
      {
        id: `acc-${name}`,
        username: `${name}@range.example`,
        password,
        kind: 'service',
        memberships: [{ facilityId: 'fac-north', role: 'bookings-manager' }],
      },
    ],
  });
});

const tokensOf = async (): Promise<{ id: string; name: string; days: number }[]> => {
  const { rows } = await world.server.db.raw(
    `select id, name, round(extract(epoch from expires_at - created_at) / 86400)::int as days from client
      where account_id = ? and disabled_at is null order by created_at`,
    [`acc-${name}`],
  );
  return rows;
};
const secretOn = (page: Page) => ({ id: textById(page, 'client-id'), secret: textById(page, 'client-secret') });
const create = async (browser: FormBrowser, page: Page, values: Record<string, string> = {}) =>
  browser.send(filled(page, '/portal/tokens', { name: 'Till', expiresInDays: '30', ...values }), {});

describe('a service account creates a personal access token', () => {
  test('which yields a client_id and a client_secret, good for client_credentials', async () => {
    const { browser, page } = await world.signIn(name);
    expect(textOf(page.html)).toContain('North Range');
    expect(page.html).toContain('You have no active token.');
    const shown = await create(browser, page);
    expect(shown.status).toBe(200);
    expect(shown.headers.get('cache-control')).toBe('no-store');
    const { id, secret } = secretOn(shown);
    expect(await tokensOf()).toEqual([{ id, name: 'Till', days: 30 }]);
    const answer = await world.token(id, secret);
    expect(answer).toMatchObject({ status: 200, token_type: 'Bearer', expires_in: 3600 });
    expect(world.facilitiesIn(answer)).toEqual(['fac-north']);
  });

  test('and a `curl` that works as it stands', async () => {
    const { browser, page } = await world.signIn(name);
    const curl = unescaped(textById(await create(browser, page), 'curl'));
    const { stdout } = await promisify(execFile)('sh', ['-c', curl]);
    expect(JSON.parse(stdout)).toMatchObject({
      token_type: 'Bearer',
      scope: expect.stringContaining('/golf/bookings'),
    });
  });

  test('of the secret only a SHA-256 is kept, and neither page nor log tells it again', async () => {
    const { browser, page } = await world.signIn(name);
    const { secret } = secretOn(await create(browser, page));
    const { rows } = await world.server.db.raw('select s::text as row from client_secret s');
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect((await browser.open(`${world.server.origin}/portal`)).html).not.toContain(secret);
    expect((await browser.open(`${world.server.origin}/portal/tokens`)).html).not.toContain(secret);
    expect(world.server.log.join('\n')).not.toContain(secret);
  });

  test('a reload of the answer shows no secret and makes no other token', async () => {
    const { browser, page } = await world.signIn(name);
    const form = filled(page, '/portal/tokens', { name: 'Till', expiresInDays: '30' });
    const answers = await Promise.all([browser.send(form, {}), browser.send(form, {}), browser.send(form, {})]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const again = await browser.send(form, {});
    expect(again.status).toBe(409);
    expect(again.html).toContain('The secret was already shown');
    expect(secretOn(again).secret).toBe('');
    expect(await tokensOf()).toHaveLength(1);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ expiresInDays: '0' }, 'expiresInDays'],
    [{ expiresInDays: '-1' }, 'expiresInDays'],
    [{ expiresInDays: '366' }, 'expiresInDays'],
    [{ expiresInDays: '1.5' }, 'expiresInDays'],
    [{ expiresInDays: '' }, 'expiresInDays'],
    [{ expiresInDays: '1e2' }, 'expiresInDays'],
  ])('%j is refused beside its field, and what was typed is kept', async (values, wrong) => {
    const { browser, page } = await world.signIn(name);
    const refused = await create(browser, page, values as Record<string, string>);
    expect(refused.status).toBe(400);
    expect(refused.html).toContain(`id="${wrong}-error"`);
    const typed = { name: 'Till', expiresInDays: '30', ...values };
    expect(fieldOf(refused, 'name')).toBe(typed.name);
    expect(fieldOf(refused, 'expiresInDays')).toBe(typed.expiresInDays);
    expect(await tokensOf()).toEqual([]);
    // The form that was refused may be mended and sent.
    expect((await create(browser, refused)).status).toBe(200);
  });

  test('50 live ones at most, also when many are made at once', async () => {
    await world.server.db.raw(
      `insert into client (id, kind, account_id, name) select ? || '-' || n, 'personal-access-token', ?, 'n' || n from generate_series(1, 48) n`,
      [name, `acc-${name}`],
    );
    const { browser } = await world.signIn(name);
    const pages = await Promise.all(Array.from({ length: 5 }, () => browser.open(`${world.server.origin}/portal`)));
    const answers = await Promise.all(pages.map((page) => create(browser, page)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409, 409]);
    expect(await tokensOf()).toHaveLength(50);
    const full = await browser.open(`${world.server.origin}/portal`);
    expect(full.html).toContain('An account can have up to 50 active tokens');
    await world.server.db.raw('update client set expires_at = now() where id = ?', [`${name}-1`]);
    expect((await create(browser, await browser.open(`${world.server.origin}/portal`))).status).toBe(200);
  });

  test('at no facility there is nothing to create one for', async () => {
    const { browser, page } = await world.signIn(name);
    await world.server.db.raw('delete from membership where account_id = ?', [`acc-${name}`]);
    expect((await create(browser, page)).status).toBe(409);
    const home = await browser.open(`${world.server.origin}/portal`);
    expect(home.html).toContain('This account has no role at any facility');
    expect(home.forms.some(({ action }) => action.endsWith('/portal/tokens'))).toBe(false);
  });
});

describe('a sign-in less than 10 minutes old counts as fresh', () => {
  test('an older one is repeated before the secret is shown, and nothing typed is lost', async () => {
    const { browser, page } = await world.signIn(name);
    await world.age(name, 9);
    expect((await create(browser, page, { name: 'First' })).status).toBe(200);
    await world.age(name, 11);
    const again = await create(browser, page, { name: 'Till & “co”', expiresInDays: '77' });
    expect(again.title).toMatch(/^Confirm that it is you/);
    expect(await tokensOf()).toHaveLength(1);
    const form = await browser.send(again, { password });
    expect(form.url.pathname).toBe('/portal');
    expect(fieldOf(form, 'name')).toBe('Till & “co”');
    expect(fieldOf(form, 'expiresInDays')).toBe('77');
    const shown = await browser.send(filled(form, '/portal/tokens'), {});
    expect(secretOn(shown).secret).not.toBe('');
    expect((await tokensOf())[1]).toMatchObject({ name: 'Till & “co”', days: 77 });
  });

  test('also for a new secret of a token', async () => {
    const { browser, page } = await world.signIn(name);
    const { id } = secretOn(await create(browser, page));
    const rotate = await browser.open(`${world.server.origin}/portal/tokens/${id}/rotate`);
    await world.age(name, 11);
    const again = await browser.send(filled(rotate, '/rotate', { overlap: '0' }), {});
    expect(again.title).toMatch(/^Confirm that it is you/);
    const back = await browser.send(again, { password });
    expect(back.url.pathname).toBe(`/portal/tokens/${id}/rotate`);
  });
});

describe('the list of tokens', () => {
  test('tells name, when made, when and from where last used, and when it expires', async () => {
    const { browser, page } = await world.signIn(name);
    const { id, secret } = secretOn(await create(browser, page, { name: '<b>Till</b>' }));
    const home = () => browser.open(`${world.server.origin}/portal`);
    expect(textOf((await home()).html)).toMatch(/&lt;b&gt;Till&lt;\/b&gt;.*never.*UTC.*Rotate.*Revoke/);
    await world.token(id, secret);
    // A use is written down without the token request waiting for it.
    const { at, address } = await eventually(async () => {
      const { rows } = await world.server.db.raw(
        'select last_used_at as at, last_used_from as address from client where id = ? and last_used_at is not null',
        [id],
      );
      return rows[0] as { at: Date; address: string } | undefined;
    });
    expect(address).toBe('127.0.0.1');
    const used = await home();
    expect(textOf(used.html)).toContain('from 127.0.0.1');
    expect(used.html).toContain(`<time datetime="${at.toISOString()}"`);
    expect(textOf(used.html)).toContain('keep working until they expire, for up to 1 hour');
  });
});

describe('a token is revoked', () => {
  test('after a page that asks; the next token request is invalid_client', async () => {
    const { browser, page } = await world.signIn(name);
    const { id, secret } = secretOn(await create(browser, page));
    expect(await world.token(id, secret)).toMatchObject({ status: 200 });
    const confirm = await browser.open(`${world.server.origin}/portal/tokens/${id}/revoke`);
    expect(await tokensOf()).toHaveLength(1);
    const home = await browser.send(filled(confirm, '/revoke'), {});
    expect(home.html).toContain('The token is revoked');
    expect(home.html).toContain('Revoked and expired (1)');
    expect(await world.token(id, secret)).toMatchObject({ status: 401, error: 'invalid_client' });
    expect((await browser.send(filled(confirm, '/revoke'), {})).status).toBe(409);
    expect((await browser.open(`${world.server.origin}/portal/tokens/${id}/rotate`)).status).toBe(409);
  });

  test('one that has expired is invalid_client, too', async () => {
    const { browser, page } = await world.signIn(name);
    const { id, secret } = secretOn(await create(browser, page));
    await world.server.db.raw('update client set expires_at = now() where id = ?', [id]);
    expect(await world.token(id, secret)).toMatchObject({ status: 401, error: 'invalid_client' });
    expect((await browser.open(`${world.server.origin}/portal`)).html).toContain('Revoked and expired (1)');
  });
});

describe('a token gets a new secret', () => {
  const rotated = async (overlap: string) => {
    const { browser, page } = await world.signIn(name);
    const old = secretOn(await create(browser, page));
    const form = filled(await browser.open(`${world.server.origin}/portal/tokens/${old.id}/rotate`), '/rotate', {
      overlap,
    });
    const shown = await browser.send(form, {});
    return { browser, old, form, shown, renewed: secretOn(shown) };
  };

  test.each(['3600', '86400', '604800'])('beside the old one for %s seconds', async (overlap) => {
    const { old, renewed, browser } = await rotated(overlap);
    expect(renewed.id).toBe(old.id);
    expect(renewed.secret).not.toBe(old.secret);
    expect(await world.token(old.id, old.secret)).toMatchObject({ status: 200 });
    expect(await world.token(old.id, renewed.secret)).toMatchObject({ status: 200 });
    expect((await browser.open(`${world.server.origin}/portal`)).html).toContain('2 valid secrets');
    const { rows } = await world.server.db.raw(
      'select round(extract(epoch from expires_at - now()))::int as left from client_secret where client_id = ? and expires_at is not null',
      [old.id],
    );
    expect(Math.abs(rows[0].left - Number(overlap))).toBeLessThan(60);
    await world.server.db.raw(
      'update client_secret set expires_at = now() where client_id = ? and expires_at is not null',
      [old.id],
    );
    expect(await world.token(old.id, old.secret)).toMatchObject({ status: 401 });
    expect(await world.token(old.id, renewed.secret)).toMatchObject({ status: 200 });
  });

  test('or instead of it at once', async () => {
    const { old, renewed } = await rotated('0');
    expect(await world.token(old.id, old.secret)).toMatchObject({ status: 401, error: 'invalid_client' });
    expect(await world.token(old.id, renewed.secret)).toMatchObject({ status: 200 });
  });

  test('once per form: a reload neither shows it again nor makes another', async () => {
    const { browser, form, old, renewed } = await rotated('0');
    const again = await browser.send(form, {});
    expect(again.status).toBe(409);
    expect(again.html).not.toContain(renewed.secret);
    expect(await world.token(old.id, renewed.secret)).toMatchObject({ status: 200 });
  });

  test.each(['', '1', '-1', '99999999'])('an overlap of %j is none of the choices', async (overlap) => {
    const { old, shown } = await rotated(overlap);
    expect(shown.status).toBe(400);
    expect(await world.token(old.id, old.secret)).toMatchObject({ status: 200 });
  });
});

describe('another account’s token id', () => {
  test.each(['rotate', 'revoke'])('is 404 to %s, and the token goes on', async (deed) => {
    const owner = await world.signIn(name);
    const { id, secret } = secretOn(await create(owner.browser, owner.page));
    const { browser, page } = await world.signIn('bot');
    expect((await browser.open(`${world.server.origin}/portal/tokens/${id}/${deed}`)).status).toBe(404);
    const csrf = tokenOf(page, '/portal/tokens');
    const answer = await browser.send(forged(page, `/portal/tokens/${id}/${deed}`, { csrf, overlap: '0' }), {});
    expect(answer.status).toBe(404);
    expect(await world.token(id, secret)).toMatchObject({ status: 200 });
  });

  test('and the id of a client that is no personal access token is 404, too', async () => {
    const { browser } = await world.signIn(name);
    expect((await browser.open(`${world.server.origin}/portal/tokens/demo-web/revoke`)).status).toBe(404);
  });
});
