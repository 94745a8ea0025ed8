// Tests that the pages work without JavaScript, with a keyboard, with a screen reader and on a phone
// (docs/behaviour-auth.md, "Pages"). The tests run in Chromium. When a form leads to a redirect, only a real browser
// checks the redirect against the CSP directive `form-action`, and applies the rules for cookies to the redirect.
import { contextOptions, expectAccessible, type Page, type Viewport, viewports } from '@bay-booking/testkit/browser';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe, expect } from '@jest/globals';
import { scopes } from '../auth-server.ts';
import { createDevice } from '../device-fixture.ts';
import { authorizeUrl, player, webCallback, webRequest } from '../flows.ts';
import { startSocialServer } from '../social-server.ts';
import { useChromium, withBrowser } from './chromium.ts';

const server = useFixture(() => startSocialServer());
const browser = useChromium();

/** Returns the URL of an authorization request of demo-web, which asks for consent again. */
const requestUrl = (params: Record<string, string> = {}): string =>
  authorizeUrl(server, {
    ...webRequest,
    scope: `openid profile email roles offline_access ${scopes.play} ${scopes.bookings}`,
    state: 'st',
    prompt: 'consent',
    ...params,
  });

async function openPage(javaScriptEnabled: boolean, timezoneId?: string): Promise<Page> {
  const [viewport] = viewports as [Viewport];
  const context = await browser.newContext({
    ...contextOptions(viewport, javaScriptEnabled),
    ...(timezoneId && { timezoneId }),
  });
  return context.newPage();
}

let pageWithoutScripts: Promise<Page> | undefined;

/** Returns a page without cookies. Opening a page takes Chromium long, so the tests share one. */
async function newPage(): Promise<Page> {
  pageWithoutScripts ??= openPage(false);
  const page = await pageWithoutScripts;
  await page.context().clearCookies();
  return page;
}

/** Fills in the fields, and then clicks the button if there is one. */
async function fillIn(page: Page, values: Record<string, string>, button?: string): Promise<void> {
  for (const [name, value] of Object.entries(values)) await page.fill(`input[name="${name}"]`, value);
  if (button) await page.getByRole('button', { name: button, exact: true }).click();
}

async function signIn(page: Page, at = `${server.origin}/sign-in`): Promise<void> {
  await page.goto(at);
  await fillIn(page, player, 'Sign in');
}

async function enterDeviceCode(page: Page): Promise<void> {
  const { user_code } = await createDevice(server).start();
  await page.goto(`${server.origin}/device`);
  await fillIn(page, { user_code }, 'Continue');
}

/** For each page, a function that opens the page. */
const pages: Record<string, (page: Page) => Promise<unknown>> = {
  'sign in': (page) => page.goto(requestUrl()),
  'failed sign-in': async (page) => {
    await page.goto(`${server.origin}/sign-in`);
    await fillIn(page, { ...player, password: 'not the password' }, 'Sign in');
  },
  register: (page) => page.goto(`${server.origin}/register`),
  'failed registration': async (page) => {
    await page.goto(`${server.origin}/register`);
    await fillIn(page, { name: 'Nora', username: 'nora@localhost', password: 'password1' }, 'Create account');
  },
  consent: (page) => signIn(page, requestUrl()),
  'reset password': (page) => page.goto(`${server.origin}/reset-password`),
  'your account': (page) => signIn(page),
  'your account, with rows in every table': async (page) => {
    await signIn(page, requestUrl());
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL(`${webCallback}**`);
    await page.goto(`${server.origin}/account`);
    await page.getByRole('button', { name: 'Add Facebook' }).click();
    await page.getByRole('button', { name: /Ben Bunker/ }).click();
    await page.getByRole('table', { name: 'Ways to sign in' }).waitFor();
    await page.getByRole('table', { name: 'Applications' }).waitFor();
  },
  'delete your account': async (page) => {
    await signIn(page);
    await page.goto(`${server.origin}/account/delete`);
  },
  'confirm that it is you': async (page) => {
    await signIn(page);
    await page.goto(`${server.origin}/sign-in?return=/account&again=1`);
  },
  'sign out at the request of a client': async (page) => {
    await signIn(page);
    await page.goto(`${server.origin}/connect/endsession?client_id=demo-web`);
  },
  'signed out': (page) => page.goto(`${server.origin}/signed-out`),
  'cancelled at a provider': async (page) => {
    await page.goto(requestUrl());
    await page.getByRole('link', { name: /Google/ }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
  },
  // No device has this code.
  'device code': (page) => page.goto(`${server.origin}/device?user_code=bcdf-ghjk`),
  'wrong device code': async (page) => {
    await page.goto(`${server.origin}/device?user_code=bcdf-ghjk`);
    await page.getByRole('button', { name: 'Continue' }).click();
    // Resets the count of wrong codes, so that the next pages can accept codes.
    await server.db.raw('delete from guard_count');
  },
  'device, decision': enterDeviceCode,
  'device connected': async (page) => {
    await enterDeviceCode(page);
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await fillIn(page, player, 'Sign in');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
  },
  // Other messages, such as “Page not found”, have the same template.
  'failed request of a client': (page) => page.goto(requestUrl({ redirect_uri: 'https://elsewhere.example/' })),
};

describe('pages without JavaScript', () => {
  withBrowser.each(Object.keys(pages))(
    'the page “%s” has no axe violation and does not overflow, at every width and in both colour schemes',
    async (name) => {
      const page = await newPage();
      await pages[name]?.(page);
      expect(await page.title()).toMatch(/ · Bay Booking$/);
      expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
      await expectAccessible(page, name);
    },
    60_000,
  );
});

describe('flows without JavaScript', () => {
  withBrowser('sign-in and consent lead to the redirect URI of the application', async () => {
    const page = await newPage();
    await signIn(page, requestUrl());
    await page.uncheck(`input[value="${scopes.bookings}"]`);
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL(`${webCallback}**`);
    const redirect = new URL(page.url());
    expect(redirect.searchParams.get('code')).toBeTruthy();
    expect(redirect.searchParams.get('scope')).not.toContain('golf/bookings');
  });

  withBrowser('the consent page offers sign-out, which ends the session', async () => {
    const page = await newPage();
    await signIn(page, requestUrl());
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(page.url()).toBe(`${server.origin}/signed-out`);
    await page.goto(`${server.origin}/account`);
    expect(await page.title()).toMatch(/^Sign in/);
  });

  withBrowser('signing out at the request of a client returns to the client', async () => {
    const page = await newPage();
    await signIn(page);
    const redirectUri = 'http://localhost:4010/signed-out';
    const request = new URLSearchParams({ client_id: 'demo-web', post_logout_redirect_uri: redirectUri, state: 's' });
    await page.goto(`${server.origin}/connect/endsession?${request}`);
    await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${redirectUri}?state=s`);
  });

  withBrowser('a user can sign in and connect a device with the keyboard, and sees the focus', async () => {
    const page = await newPage();
    await page.goto(`${server.origin}/sign-in`);
    await page.locator('#username:focus').waitFor();
    // A passkey needs JavaScript.
    expect(await page.getByRole('button', { name: /passkey/ }).isVisible()).toBe(false);
    await page.keyboard.type(player.username);
    await page.keyboard.press('Tab');
    await page.keyboard.type(player.password);
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
    expect(outline).toBe('solid');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${server.origin}/account`);
    // The page for a device accepts the code in lower case too.
    const { user_code } = await createDevice(server).start();
    await page.goto(`${server.origin}/device`);
    await page.locator('#user_code:focus').waitFor();
    await page.keyboard.type(user_code.toLowerCase());
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Connect Demo screen?' }).waitFor();
    await page.getByRole('button', { name: 'Allow', exact: true }).focus();
    await page.keyboard.press('Enter');
    // A remembered consent has no page.
    await page.getByRole('heading', { name: /^(Allow access\?|Demo screen is connected)/ }).waitFor();
  });
});

describe('pages with JavaScript', () => {
  withBrowser('the account page shows times in the time zone of the viewer, and names that zone', async () => {
    const page = await openPage(true, 'Asia/Tokyo');
    await signIn(page);
    expect(await page.locator('time').first().textContent()).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d$/);
    expect(await page.getByText('Times are in Asia/Tokyo.').count()).toBe(1);
  });

  withBrowser('response_mode=form_post reaches the application', async () => {
    const page = await openPage(true);
    const posted = page.waitForRequest((request) => request.url() === webCallback);
    await signIn(page, requestUrl({ response_mode: 'form_post' }));
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    const request = await posted;
    expect(request.method()).toBe('POST');
    expect(request.postData()).toContain('code=');
  });
});
