// Tests the page on which a user enters the code of a device, and its protection against guessed codes
// (docs/behaviour-auth.md, "Device sign-in"; RFC 8628 sections 3.3 and 5.1).
import { useFixture } from '@bay-booking/testkit/fixture';
import { type FormBrowser, fieldOf, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { scopes, startAuthServer } from './auth-server.ts';
import { createDevice, deviceCodeGrant, screen } from './device-fixture.ts';
import { allow, deny, openBrowser, owner, player, refreshTokens, signInAndConsent } from './flows.ts';

const server = useFixture(() => startAuthServer({ TRUST_PROXY: 'true' }));
/** A device of the client demo-screen. Unless a test names another user, `player` (acc-player) connects the device. */
const device = createDevice(server);
const wrongCode = 'This code is wrong, has expired or was used already.';
/** How long a code is valid. */
const codeLifetimeSeconds = 600;

describe('the page {auth_url}/device', () => {
  test('the first page has the field user_code, the next one names the client, shows the code and asks to decide', async () => {
    const { user_code, verification_uri } = await device.start();
    const browser = openBrowser(server);
    const page = await browser.open(verification_uri);
    expect(page).toMatchObject({ status: 200, title: expect.stringMatching(/^Connect a device/) });
    expect(fieldOf(page, 'user_code')).toBe('');
    const { status, html } = await browser.send(page, { user_code: user_code.toLowerCase().replace('-', '') });
    expect(status).toBe(200);
    const shown = ['<strong>Demo screen</strong>', `>${user_code}<`];
    const buttons = ['allow', 'deny'].map((decision) => `name="decision" value="${decision}"`);
    for (const text of [...shown, ...buttons]) expect(html).toContain(text);
  });

  test('verification_uri_complete fills in the code and shows no decision', async () => {
    const codes = await device.start();
    const page = await openBrowser(server).open(codes.verification_uri_complete);
    expect(fieldOf(page, 'user_code')).toBe(codes.user_code);
    expect(page.html).not.toContain('Demo screen');
    expect(page.html).not.toContain('name="decision"');
  });

  test('the query cannot put markup or a long text into the page', async () => {
    const code = encodeURIComponent('"><script>alert(1)</script>'.repeat(9));
    const { html } = await openBrowser(server).open(`/device?user_code=${code}`);
    expect(html).not.toContain('<script>');
    expect((await openBrowser(server).open('/device?user_code=A&user_code=B')).status).toBe(200);
  });

  // src/input/typed-code.test.ts has the other ways to type a code.
  test('a code with another dash and invisible characters is accepted', async () => {
    const { user_code } = await device.start();
    const typed = [...user_code.replace('-', '\u2212')].join('\u200b\u202f');
    expect((await device.enter(typed)).html).toContain(`>${user_code}<`);
  });

  test('a form of another site, or of another browser, is rejected and decides nothing', async () => {
    const codes = await device.start();
    const browser = openBrowser(server);
    const entered = await device.enter(codes.user_code, browser);
    const csrf = fieldOf(entered, 'csrf') ?? '';
    const form = { csrf, user_code: codes.user_code, decision: 'deny' };
    const cookie = browser.cookieHeader();
    expect((await server.post('/device', form)).status).toBe(403);
    expect((await server.post('/device', { ...form, csrf: '' }, { Cookie: cookie })).status).toBe(403);
    const fromOtherSite = { Cookie: cookie, Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
    expect((await server.post('/device', form, fromOtherSite)).status).toBe(403);
    expect(await device.poll(codes)).toMatchObject({ error: 'authorization_pending' });
  });

  test('a wrong code is reported next to the field, and the field stays filled in', async () => {
    const page = await device.enter('bcdf-ghjk');
    expect(page.status).toBe(400);
    expect(page.title).toMatch(/^Error: /);
    expect(page.html).toContain(wrongCode);
    expect(page.html).toMatch(/id="user_code"[^>]*aria-describedby="[^"]*user_code-error[^"]*" aria-invalid="true"/);
    expect(fieldOf(page, 'user_code')).toBe('BCDF-GHJK');
    expect((await device.enter('')).html).toContain('Enter the code that your device shows.');
  });
});

describe('sign-in and consent', () => {
  test('the user signs in and consents, and then the page says that the device is connected', async () => {
    const { codes, browser, page: signIn } = await device.decide(allow);
    expect(signIn.title).toMatch(/^Sign in/);
    expect(signIn.html).toContain('to continue to <strong>Demo screen</strong>');
    const consent = await browser.send(signIn, player);
    expect(consent.title).toMatch(/^Allow access/);
    expect(consent.html).toContain('you’ll return to <strong>your device</strong>');
    const end = await browser.send(consent, {}, allow);
    expect(end).toMatchObject({ status: 200, title: expect.stringMatching(/^Demo screen is connected/) });
    expect(end.headers.get('content-security-policy')).toContain("script-src 'none'");
    expect(await device.poll(codes)).toMatchObject({ status: 200 });
  });

  test('a user who is signed in and has consented before only confirms the code', async () => {
    const browser = openBrowser(server);
    await device.connect(await device.start(), { browser });
    const { codes, page: end } = await device.decide(allow, { browser });
    expect(end.title).toMatch(/^Demo screen is connected/);
    expect(await device.poll(codes)).toMatchObject({ status: 200 });
  });
});

test('a device stays connected when the user signs out in the browser', async () => {
  const codes = await device.start();
  const browser = openBrowser(server);
  const end = await device.connect(codes, { browser });
  const tokens = await device.poll(codes);
  await browser.send(end, {}, 'Sign out');
  expect(await refreshTokens(server, tokens, screen)).toMatchObject({ status: 200 });
});

describe('repeated, interrupted and invalid uses of a code', () => {
  test('a code that was entered, or allowed without a sign-in, can be entered in another browser', async () => {
    const { codes } = await device.decide(allow);
    await device.enter(codes.user_code);
    await device.connect(codes);
    expect(await device.poll(codes)).toMatchObject({ status: 200 });
  });

  test('if two users allow the same code, the user who finishes first decides', async () => {
    const { codes, browser, page: signIn } = await device.decide(allow);
    await device.connect(codes);
    const late = await signInAndConsent(browser, signIn, owner);
    expect(late.title).toMatch(/^The device is not connected/);
    expect(decodeJwt(String((await device.poll(codes)).id_token))).toMatchObject({ sub: 'acc-player' });
  });

  test('a code that was allowed, denied or used, or that has expired, gives the error of a wrong code', async () => {
    const allowed = await device.start();
    await device.connect(allowed);
    expect((await device.enter(allowed.user_code)).html).toContain(wrongCode);
    await device.poll(allowed);
    expect((await device.enter(allowed.user_code)).html).toContain(wrongCode);
    const { codes: denied, page: end } = await device.decide(deny);
    expect(end.title).toMatch(/^The device is not connected/);
    expect((await device.enter(denied.user_code)).html).toContain(wrongCode);
    const expired = await device.start();
    await device.passTime(codeLifetimeSeconds + 1);
    expect((await device.enter(expired.user_code)).html).toContain(wrongCode);
  });

  test('a code that expires during the sign-in is not connected', async () => {
    const { codes, browser, page: signIn } = await device.decide(allow);
    await device.passTime(codeLifetimeSeconds + 1);
    const end = await signInAndConsent(browser, signIn);
    expect(end).toMatchObject({ status: 400, title: expect.stringMatching(/^The device is not connected/) });
    expect(await device.poll(codes)).toMatchObject({ error: 'expired_token' });
  });

  test('the address of a finished or unknown sign-in connects no device, and an unknown address stores no session', async () => {
    const sessions = server.db('oidc_artifact').where({ model: 'Session' }).count();
    const before = await sessions.clone();
    const page = await openBrowser(server).open('/device/unknown');
    expect(page).toMatchObject({ status: 400, title: expect.stringMatching(/^The device is not connected/) });
    expect(await sessions).toEqual(before);
    const browser = openBrowser(server);
    const end = await device.connect(await device.start(), { browser });
    expect((await browser.open(end.url)).status).toBe(400);
  });

  test('a code whose client was disabled gives the error of a wrong code', async () => {
    const client = { client_id: 'disabled', scope: scopes.play };
    await server.load({ clients: [{ ...client, grant_types: [deviceCodeGrant] }] });
    const { user_code } = await device.start(client);
    await server.db('client').where({ id: 'disabled' }).update({ disabled_at: new Date() });
    expect((await device.enter(user_code)).html).toContain(wrongCode);
  });
});

const browserFrom = (address: string): FormBrowser => openFormBrowser([server.origin], { 'X-Forwarded-For': address });

// The table guard_count contains the number of wrong codes.
beforeEach(async () => {
  await server.db('guard_count').delete();
});

const unknownCode = 'BCDF-GHJK';
/** Enters a wrong code several times, each time in the browser that `browserOf` returns for the number of the guess. */
const enterWrongCodes = async (times: number, browserOf: (n: number) => FormBrowser): Promise<void> => {
  for (let n = 1; n <= times; n++) expect((await device.enter(unknownCode, browserOf(n))).status).toBe(400);
};
/** Opens the page `/device` in a new browser. Returns the header Cookie and the CSRF token of its form. */
const openForm = async () => {
  const browser = openBrowser(server);
  const page = await browser.open('/device');
  return { headers: { Cookie: browser.cookieHeader() }, csrf: fieldOf(page, 'csrf') ?? '' };
};
const expectLocked = ({ status, headers, html }: Page): void => {
  expect(status).toBe(429);
  const retryAfter = Number(headers.get('retry-after'));
  expect(retryAfter).toBeGreaterThan(0);
  expect(retryAfter).toBeLessThanOrEqual(15 * 60);
  expect(html).toContain('Too many wrong codes were entered.');
};

describe('after ten wrong codes within 15 minutes, the page returns 429 with Retry-After', () => {
  test('an IP address is locked in every browser, even for correct codes, until the 15 minutes have passed', async () => {
    const { user_code } = await device.start();
    await enterWrongCodes(10, () => browserFrom('192.0.2.1'));
    expectLocked(await device.enter(user_code, browserFrom('192.0.2.1')));
    expectLocked(await browserFrom('192.0.2.1').open('/device'));
    expect((await device.enter(user_code, browserFrom('192.0.2.2'))).status).toBe(200);
    await server.db.raw('update guard_count set expire = ?', [Date.now() - 1]);
    expect((await device.enter(user_code, browserFrom('192.0.2.1'))).status).toBe(200);
  });

  test('a browser is locked at all instances, even if its codes come from many IP addresses', async () => {
    const { origin } = await server.startInstance();
    const { user_code } = await device.start();
    const { headers, csrf } = await openForm();
    const send = (code: string, n: number) =>
      fetch(`${n % 2 ? server.origin : origin}/device`, {
        method: 'POST',
        headers: { ...headers, 'X-Forwarded-For': `198.51.100.${n}` },
        body: new URLSearchParams({ csrf, user_code: code }),
      });
    for (let n = 1; n <= 10; n++) expect((await send(unknownCode, n)).status).toBe(400);
    for (const n of [11, 12]) {
      const locked = await send(user_code, n);
      expect([locked.status, locked.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    }
    expect((await device.enter(user_code, browserFrom('198.51.100.12'))).status).toBe(200);
  });

  test('a signed-in session is locked, even with other form cookies', async () => {
    const { user_code } = await device.start();
    const browser = openBrowser(server);
    await browser.submit('/sign-in', player);
    const session = browser.cookies().filter((cookie) => cookie.startsWith('_session'));
    const send = async (code: string, n: number) => {
      const { headers, csrf } = await openForm();
      const Cookie = [...session.map((cookie) => cookie.split(';')[0]), headers.Cookie].join('; ');
      const form = { csrf, user_code: code };
      return server.post('/device', form, { Cookie, 'X-Forwarded-For': `198.51.100.${n}` });
    };
    for (let n = 1; n <= 10; n++) expect((await send(unknownCode, n)).status).toBe(400);
    expect((await send(user_code, 11)).status).toBe(429);
  });

  test('unknown, expired and used codes count, also when they are sent with a decision', async () => {
    const { codes: used } = await device.decide(deny);
    const expired = await device.start();
    // Codes are valid for 600 s.
    await device.passTime(601);
    const { user_code } = await device.start();
    const address = '192.0.2.1';
    // Each of the five codes is sent twice, so ten wrong codes are counted.
    for (const code of [used.user_code, expired.user_code, unknownCode, 'x', '12345678']) {
      expect((await device.enter(code, browserFrom(address))).status).toBe(400);
      const browser = browserFrom(address);
      const page = await device.enter(user_code, browser);
      expect((await browser.send(page, { user_code: code }, allow)).status).toBe(400);
    }
    expectLocked(await device.enter(user_code, browserFrom(address)));
  });

  test('of 32 parallel guesses, ten are checked', async () => {
    const guess = () => device.enter(unknownCode, browserFrom('192.0.2.1'));
    const guesses = await Promise.all(Array.from({ length: 32 }, guess));
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

test('devices can still poll while the page returns 429', async () => {
  const codes = await device.start();
  await device.connect(codes);
  await enterWrongCodes(10, () => browserFrom('192.0.2.1'));
  const headers = { 'X-Forwarded-For': '192.0.2.1' };
  expect(await device.poll(await device.start(), { headers })).toMatchObject({ error: 'authorization_pending' });
  expect(await device.poll(codes, { headers })).toMatchObject({ status: 200 });
});
