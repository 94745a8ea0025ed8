// Tests the protection against guessed user codes (docs/behaviour-auth.md, "Device sign-in"; RFC 8628 section 5.1).
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { startAuthServer } from './auth-server.ts';
import { allow, createDevice, deny } from './device-fixture.ts';
import { openBrowser, player } from './flows.ts';

const server = useFixture(() => startAuthServer({ TRUST_PROXY: 'true' }));
const device = createDevice(server);
const browserFrom = (address: string): FormBrowser => openFormBrowser([server.origin], { 'X-Forwarded-For': address });

// The table guard_count contains the number of wrong codes.
beforeEach(async () => {
  await server.db.raw('delete from guard_count');
});

const wrongCode = 'BCDF-GHJK';
/** Enters a wrong code several times, each time in the browser that `browserOf` returns for the number of the guess. */
const enterWrongCodes = async (times: number, browserOf: (n: number) => FormBrowser): Promise<void> => {
  for (let n = 1; n <= times; n++) expect((await device.enter(wrongCode, browserOf(n))).status).toBe(400);
};
/** Opens the page `/device` in a new browser. Returns the header Cookie and the CSRF token of its form. */
const openForm = async () => {
  const browser = openBrowser(server);
  const page = await browser.open(`${server.origin}/device`);
  const csrf = page.forms.flatMap(({ fields }) => fields).find(({ name }) => name === 'csrf')?.value ?? '';
  return { headers: { Cookie: browser.cookies().join('; ') }, csrf };
};
const expectLocked = ({ status, headers, html }: Page): void => {
  expect(status).toBe(429);
  const retryAfter = Number(headers.get('retry-after'));
  expect(retryAfter).toBeGreaterThan(0);
  expect(retryAfter).toBeLessThanOrEqual(15 * 60);
  expect(html).toContain('Too many wrong codes were entered.');
};

describe('after ten wrong codes within 15 minutes, the page returns 429 with Retry-After', () => {
  test('an IP address is locked in every browser, even for correct codes', async () => {
    const { user_code } = await device.start();
    await enterWrongCodes(10, () => browserFrom('192.0.2.1'));
    expectLocked(await device.enter(user_code, browserFrom('192.0.2.1')));
    expectLocked(await browserFrom('192.0.2.1').open(`${server.origin}/device`));
    expect((await device.enter(user_code, browserFrom('192.0.2.2'))).status).toBe(200);
  });

  test('all addresses of one IPv6 /64 network are locked together', async () => {
    const { user_code } = await device.start();
    await enterWrongCodes(10, (n) => browserFrom(`2001:db8:1:2::${n}`));
    expectLocked(await device.enter(user_code, browserFrom('2001:db8:1:2:ffff::1')));
    expect((await device.enter(user_code, browserFrom('2001:db8:1:3::1'))).status).toBe(200);
  });

  test('a browser is locked, even if its codes come from many IP addresses', async () => {
    const { user_code } = await device.start();
    const { headers, csrf } = await openForm();
    const send = (code: string, n: number) =>
      server.post('/device', { csrf, user_code: code }, { ...headers, 'X-Forwarded-For': `198.51.100.${n}` });
    for (let n = 1; n <= 10; n++) expect((await send(wrongCode, n)).status).toBe(400);
    const locked = await send(user_code, 11);
    expect(locked.status).toBe(429);
    expect(locked.headers.get('retry-after')).toMatch(/^\d+$/);
    expect((await device.enter(user_code, browserFrom('198.51.100.12'))).status).toBe(200);
  });

  test('a signed-in session is locked, even with other form cookies', async () => {
    const { user_code } = await device.start();
    const browser = openBrowser(server);
    await browser.send(await browser.open(`${server.origin}/sign-in`), player);
    const session = browser.cookies().filter((cookie) => cookie.startsWith('_session'));
    const send = async (code: string, n: number) => {
      const { headers, csrf } = await openForm();
      const Cookie = [...session, headers.Cookie].join('; ');
      const form = { csrf, user_code: code };
      return server.post('/device', form, { Cookie, 'X-Forwarded-For': `198.51.100.${n}` });
    };
    for (let n = 1; n <= 10; n++) expect((await send(wrongCode, n)).status).toBe(400);
    expect((await send(user_code, 11)).status).toBe(429);
  });

  test('a browser is locked at all instances', async () => {
    const { origin } = await server.startInstance();
    const { user_code } = await device.start();
    const { headers, csrf } = await openForm();
    const send = (code: string, at: string) =>
      fetch(`${at}/device`, { method: 'POST', headers, body: new URLSearchParams({ csrf, user_code: code }) });
    for (let n = 1; n <= 10; n++) {
      expect((await send(wrongCode, n % 2 ? server.origin : origin)).status).toBe(400);
    }
    for (const at of [server.origin, origin]) {
      const response = await send(user_code, at);
      expect(response.status).toBe(429);
      expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    }
  });

  test('unknown, expired and used codes count, also when they are sent with a decision', async () => {
    const used = await device.start();
    const visitor = openBrowser(server);
    await visitor.send(await device.enter(used.user_code, visitor), {}, deny);
    const expired = await device.start();
    // Codes are valid for 600 s.
    await device.passTime(601);
    const { user_code } = await device.start();
    const address = '192.0.2.1';
    // Each of the five codes is sent twice, so ten wrong codes are counted.
    for (const code of [used.user_code, expired.user_code, wrongCode, 'x', '12345678']) {
      expect((await device.enter(code, browserFrom(address))).status).toBe(400);
      const browser = browserFrom(address);
      const page = await device.enter(user_code, browser);
      expect((await browser.send(page, { user_code: code }, allow)).status).toBe(400);
    }
    expectLocked(await device.enter(user_code, browserFrom(address)));
  });

  test('of 32 parallel guesses, ten are checked', async () => {
    const guesses = await Promise.all(
      Array.from({ length: 32 }, () => device.enter(wrongCode, browserFrom('192.0.2.1'))),
    );
    expect(guesses.filter(({ status }) => status === 400)).toHaveLength(10);
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(22);
  });
});

test('correct codes and empty fields do not count as wrong codes', async () => {
  const { user_code } = await device.start();
  for (let n = 1; n <= 12; n++) {
    expect((await device.enter(user_code, browserFrom('192.0.2.1'))).status).toBe(200);
    expect((await device.enter('', browserFrom('192.0.2.1'))).status).toBe(400);
  }
  await enterWrongCodes(9, () => browserFrom('192.0.2.1'));
  expect((await device.enter(user_code, browserFrom('192.0.2.1'))).status).toBe(200);
});

test('codes are accepted again after 15 minutes', async () => {
  const { user_code } = await device.start();
  await enterWrongCodes(10, () => browserFrom('192.0.2.1'));
  await server.db.raw('update guard_count set expire = ?', [Date.now() - 1]);
  expect((await device.enter(user_code, browserFrom('192.0.2.1'))).status).toBe(200);
});

test('devices can still poll while the page returns 429', async () => {
  const codes = await device.start();
  await device.connect(codes);
  await enterWrongCodes(10, () => browserFrom('192.0.2.1'));
  const headers = { 'X-Forwarded-For': '192.0.2.1' };
  expect(await device.poll(await device.start(), { headers })).toMatchObject({ error: 'authorization_pending' });
  expect(await device.poll(codes, { headers })).toMatchObject({ status: 200 });
});
