// Tests the CSRF protection, the headers and the error pages, which all pages share (docs/behaviour-auth.md, "Pages").
import { useFixture } from '@bay-booking/testkit/fixture';
import { openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { textOf } from '@bay-booking/testkit/html-forms';
import { describe, expect, test } from '@jest/globals';
import { scopes, startAuthServer } from './auth-server.ts';
import { authorizeUrl, openBrowser, player, webRequest } from './flows.ts';

const server = useFixture(() => startAuthServer());

/** Returns the address of an authorization request. */
const authorizeAddress = (params: Record<string, string> = {}): string =>
  authorizeUrl(server, { ...webRequest, scope: `openid ${scopes.play}`, ...params });
/** Opens a browser that asks for HTML. Without this `Accept` header, some protocol endpoints would return JSON. */
const openHtmlBrowser = () => openFormBrowser([server.origin], { Accept: 'text/html' });
const signedInBrowser = async () => {
  const browser = openHtmlBrowser();
  await browser.send(await browser.open(`${server.origin}/sign-in`), player);
  return browser;
};

const wayOnOf = ({ links }: Page) =>
  links
    .filter(({ text }) => /^(Back to|Go to) /.test(text))
    .map(({ href, text }) => `${text}: ${new URL(href, server.origin)}`);
const toPortal = () => [`Go to the portal: ${server.origin}/portal`];
const toApplication = [`Back to Demo web: ${new URL('/', webRequest.redirect_uri)}`];

describe('CSRF protection', () => {
  test('a form without a CSRF token of the same browser gets 403', async () => {
    const browser = openBrowser(server);
    const signIn = await browser.open(authorizeAddress());
    const otherPage = await openBrowser(server).open(authorizeAddress());
    const csrf = otherPage.forms[0]?.fields.find(({ name }) => name === 'csrf')?.value ?? '';
    expect((await browser.send(signIn, { ...player, csrf })).status).toBe(403);
    expect((await browser.send(signIn, { ...player, csrf: '' })).status).toBe(403);
    const forged = await fetch(`${server.origin}/sign-in`, { method: 'POST', body: new URLSearchParams(player) });
    expect(forged.status).toBe(403);
  });

  test('a form from another site gets 403, even with the right CSRF token', async () => {
    const browser = openFormBrowser([server.origin], { 'Sec-Fetch-Site': 'cross-site' });
    const signIn = await browser.open(`${server.origin}/sign-in`);
    const rejected = await browser.send(signIn, player);
    expect(rejected.status).toBe(403);
    expect(rejected.links.map(({ href }) => href)).toContainEqual(expect.stringMatching(/\/(sign-in|portal)$/));
  });

  test.each([
    [{ 'Sec-Fetch-Site': 'same-origin' }, 200],
    [{ 'Sec-Fetch-Site': 'none' }, 403],
    [{ 'Sec-Fetch-Site': 'cross-site' }, 403],
    [{}, 403],
  ])(
    'a form with the origin null, as behind a proxy that sets no-referrer, and %p gets %i',
    async (headers, status) => {
      const browser = openFormBrowser([server.origin], { Origin: 'null', Referer: '', ...(headers as object) });
      const signIn = await browser.open(`${server.origin}/sign-in`);
      expect((await browser.send(signIn, { ...player, csrf: 'wrong' })).status).toBe(403);
      expect((await browser.send(signIn, player)).status).toBe(status);
    },
  );
});

test('the headers of a page allow nothing from other origins, no inline script and no frame', async () => {
  const page = await openBrowser(server).open(authorizeAddress());
  const policy = page.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  // The form of this page ends in a redirect to the client, and the client may redirect further. Browsers apply
  // `form-action` to all these redirects, so the directive would block them.
  expect(policy).not.toContain('form-action');
  const direct = await openBrowser(server).open(`${server.origin}/sign-in`);
  expect(direct.headers.get('content-security-policy')).toContain("form-action 'self'");
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(page.html).not.toMatch(/<script(?! src="\/assets\/)|style="|\son\w+=/);
});

test('every expired sign-in shows the same text', async () => {
  const signIn = await openBrowser(server).open(authorizeAddress());
  const pages = [
    // The interaction belongs to another browser, or does not exist.
    await openBrowser(server).open(signIn.url),
    await openBrowser(server).open(`${server.origin}/interaction/none`),
    // The browser returns to an authorization request that does not exist.
    await openBrowser(server).open(`${server.origin}/connect/authorize/none`),
    // The callback of a social provider names a flow that does not exist.
    await openBrowser(server).open(`${server.origin}/social/google/callback?state=none`),
  ];
  for (const page of pages) {
    expect(page.status).toBe(400);
    expect(page.title).toMatch(/^This sign-in has expired/);
    expect(textOf(page.html)).toContain(
      'It was open for too long, is already complete, or was started in another browser.',
    );
    expect(wayOnOf(page)).toEqual(page.url.pathname === signIn.url.pathname ? toApplication : toPortal());
  }
});

describe('error pages', () => {
  const detail = (page: Page, name: string) =>
    textOf(new RegExp(`<dt>${name}</dt>\\s*<dd>(.*?)</dd>`).exec(page.html)?.[1] ?? '');

  test('an error that cannot be sent to the client is a page that names the client and the redirect URI', async () => {
    const page = await openBrowser(server).open(authorizeAddress({ redirect_uri: 'https://evil.example/<b>' }));
    expect(page.status).toBe(400);
    expect(page.title).toMatch(/^This sign-in cannot continue/);
    expect(detail(page, 'Error')).toContain('redirect_uri');
    expect(detail(page, 'Application')).toBe('Demo web');
    expect(detail(page, 'Return address')).toBe('https://evil.example/<b>');
    // The address may belong to an attacker, so the page does not show it as a link.
    expect(page.html).not.toContain('href="https://evil.example');
  });

  test('the error page names the client_id of a client that is not registered', async () => {
    const page = await openBrowser(server).open(authorizeAddress({ client_id: 'no-such-client' }));
    expect(page.status).toBe(400);
    expect(detail(page, 'Application')).toBe('no-such-client');
  });

  test('the error page after a failed sign-out has the title “You could not be signed out”', async () => {
    const url = `${server.origin}/connect/endsession?client_id=nobody&post_logout_redirect_uri=https://evil.example/`;
    const anonymous = await openHtmlBrowser().open(url);
    expect(anonymous.status).toBe(400);
    expect(anonymous.title).toMatch(/^You could not be signed out/);
    expect(textOf(anonymous.html)).toContain('You are not signed in to Bay Booking in this browser.');
    expect(detail(anonymous, 'Application')).toBe('nobody');
    expect(detail(anonymous, 'Return address')).toBe('https://evil.example/');
    const signedIn = await (await signedInBrowser()).open(url);
    expect(textOf(signedIn.html)).toContain('To sign out, use the button at the top of this page.');
  });

  test.each([
    ['/nowhere', 404, 'Page not found'],
    ['/connect/nowhere', 404, 'Page not found'],
    ['/connect/authorize', 400, 'This sign-in cannot continue'],
    ['/connect/endsession?client_id=nobody', 400, 'You could not be signed out'],
    ['/interaction/nowhere', 400, 'This sign-in has expired'],
  ])('the error page offers sign-out to a signed-in user: %s', async (path, status, title) => {
    const browser = await signedInBrowser();
    const page = await browser.open(server.origin + path);
    expect(page.status).toBe(status);
    expect(page.title.startsWith(title)).toBe(true);
    expect(page.forms.map(({ action }) => new URL(action).pathname)).toEqual(['/sign-out']);
    await browser.send(page, {});
    expect((await browser.open(server.origin + path)).forms).toEqual([]);
  });
});
