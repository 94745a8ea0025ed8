// Tests that the pages work without JavaScript, with a keyboard, with a screen reader and on a phone
// (docs/behaviour-auth.md, "Pages"). The tests run in Chromium. When a form leads to a redirect, only a real browser
// checks the redirect against the CSP directive `form-action`, and applies the rules for cookies to the redirect.
import type { AddressInfo } from 'node:net';
import {
  contextOptions,
  expectAccessible,
  type Page,
  saveScreenshot,
  type Viewport,
  viewports,
} from '@bay-booking/testkit/browser';
import { useFixture } from '@bay-booking/testkit/fixture';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { beforeAll, describe, expect } from '@jest/globals';
import { scopes } from '../auth-server.ts';
import { createDevice, deviceCodeGrant } from '../device-fixture.ts';
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
  'consent of a driving range': (page) =>
    signIn(
      page,
      requestUrl({
        client_id: 'demo-range',
        redirect_uri: 'http://localhost:4010/range',
        scope: `openid profile roles email offline_access ${scopes.play}`,
      }),
    ),
  'reset password': (page) => page.goto(`${server.origin}/reset-password`),
  'reset password, link sent': async (page) => {
    await page.goto(`${server.origin}/reset-password`);
    await fillIn(page, { username: 'nobody@example.com' }, 'Send the link');
  },
  // An unknown token shows the same page as the token of a used link.
  'reset password, link used': (page) => page.goto(`${server.origin}/reset-password/new?token=none`),
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
  'device not connected': async (page) => {
    await enterDeviceCode(page);
    await page.getByRole('button', { name: 'Do not allow' }).click();
  },
  'failed request of a client': (page) => page.goto(requestUrl({ redirect_uri: 'https://elsewhere.example/' })),
  'page not found': (page) => page.goto(`${server.origin}/no-such-page`),
  'expired sign-in': (page) => page.goto(`${server.origin}/interaction/none`),
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

  withBrowser('the redirect URI may redirect to a page of another origin', async () => {
    // For a browser, 127.0.0.1 and localhost are different origins.
    const application = await serveHttp((request, response) => {
      const { port } = request.socket.address() as AddressInfo;
      if (request.url?.startsWith('/callback')) response.writeHead(302, { Location: `http://localhost:${port}/app` });
      response.end('the application');
    });
    const page = await newPage();
    const redirect_uri = `${application.url}/callback`;
    await signIn(page, requestUrl({ client_id: 'demo-native', redirect_uri }));
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL(`http://localhost:${application.port}/app`);
    await application.close();
  });

  withBrowser('registration and denied consent lead to the redirect URI', async () => {
    const page = await newPage();
    await page.goto(requestUrl());
    await page.getByRole('link', { name: 'Create an account' }).click();
    await fillIn(
      page,
      { name: 'Nora', username: 'nora@example.org', password: 'seven unusual lamps' },
      'Create account',
    );
    await page.getByRole('button', { name: 'Do not allow' }).click();
    await page.waitForURL(`${webCallback}**`);
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
  });

  withBrowser('a social sign-in replaces the account that is signed in', async () => {
    const page = await newPage();
    await signIn(page);
    await page.goto(requestUrl({ acr_values: 'idp:google', prompt: 'login consent' }));
    await page.getByRole('button', { name: /Ada Fairway/ }).click();
    expect(await page.locator('.user').textContent()).toContain('Ada Fairway');
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL(`${webCallback}**`);
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

  withBrowser('a user can sign in with the keyboard, and sees the focus', async () => {
    const page = await newPage();
    await page.goto(`${server.origin}/sign-in`);
    expect(await page.evaluate('document.activeElement.name')).toBe('username');
    await page.keyboard.type(player.username);
    await page.keyboard.press('Tab');
    await page.keyboard.type(player.password);
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
    expect(outline).toBe('solid');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${server.origin}/account`);
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

describe('a screen that signs in, and the phone of its user, which shows our pages without JavaScript', () => {
  /**
   * Serves the page of the screen, which is the device that signs in. The page must come from a real server, because
   * Chromium does not let a page of an intercepted request call loopback addresses.
   */
  const application = useFixture(() =>
    serveHttp((_request, response) => {
      response.setHeader('Content-Type', 'text/html').end(screenHtml(server.origin));
    }),
  );
  const screenAddress = () => `${application.url}/screen`;
  beforeAll(async () => {
    await server.load({
      clients: [
        {
          client_id: 'bay-screen',
          client_name: 'Bay 7 screen',
          kind: 'driving-range',
          redirect_uris: [screenAddress()],
          response_types: ['code'],
          grant_types: ['authorization_code', deviceCodeGrant, 'refresh_token'],
          scope: `openid profile roles offline_access ${scopes.play}`,
        },
      ],
    });
  });

  /**
   * Returns a page that acts as the device, a screen at a bay. A real screen polls with a timer. This page polls when
   * its button is pressed, and then shows the error or the name of the user.
   */
  const screenHtml = (auth: string) => `<!doctype html><html lang="en"><title>Bay 7</title>
<h1>Sign in</h1><p>Open <b id="address"></b> and enter</p><p id="code"></p><button>Poll</button><p role="status"></p>
<script>
  const show = (selector, text) => { document.querySelector(selector).textContent = text; };
  const post = async (path, form) =>
    (await fetch('${auth}' + path, { method: 'POST', body: new URLSearchParams({ client_id: 'bay-screen', ...form }) }))
      .json();
  const started = post('/connect/deviceauthorization', {
    scope: 'openid profile roles offline_access ${scopes.play}',
  }).then((codes) => {
    show('#address', codes.verification_uri);
    show('#code', codes.user_code);
    return codes;
  });
  document.querySelector('button').addEventListener('click', async () => {
    show('[role=status]', '');
    const { device_code } = await started;
    const { error, access_token } = await post('/connect/token', { grant_type: '${deviceCodeGrant}', device_code });
    if (error) return show('[role=status]', error);
    const headers = { Authorization: 'Bearer ' + access_token };
    const { name } = await (await fetch('${auth}/connect/userinfo', { headers })).json();
    show('[role=status]', 'Welcome, ' + name);
  });
</script>`;

  async function openScreen(): Promise<Page> {
    const hasJavaScript = true;
    const context = await browser.newContext(contextOptions({ width: 1280, scheme: 'dark' }, hasJavaScript));
    const page = await context.newPage();
    await page.goto(screenAddress());
    return page;
  }

  /** Presses the button of the screen, and returns the text that the screen then shows. */
  async function poll(screen: Page): Promise<string | null> {
    await screen.getByRole('button', { name: 'Poll' }).click();
    const status = screen.locator('[role=status]:not(:empty)');
    await status.waitFor();
    return status.textContent();
  }

  async function readCode(screen: Page): Promise<string> {
    await screen.locator('#code:not(:empty)').waitFor();
    return (await screen.locator('#code').textContent()) ?? '';
  }

  async function openPhone(screen: Page): Promise<Page> {
    const hasJavaScript = false;
    const context = await browser.newContext(contextOptions({ width: 390, scheme: 'light' }, hasJavaScript));
    const phone = await context.newPage();
    await phone.goto((await screen.locator('#address').textContent()) ?? '');
    return phone;
  }

  withBrowser(
    'a screen is signed in after a player has entered its code on a phone, with the keyboard alone',
    async () => {
      const screen = await openScreen();
      const code = await readCode(screen);
      expect(await poll(screen)).toBe('authorization_pending');

      const phone = await openPhone(screen);
      expect(await phone.evaluate('document.activeElement.name')).toBe('user_code');
      // The page accepts the code in lower case too.
      await phone.keyboard.type(code.toLowerCase());
      await saveScreenshot(phone, 'device-phone-1-code');
      await phone.keyboard.press('Enter');
      await phone.getByRole('heading', { name: 'Connect Bay 7 screen?' }).waitFor();
      expect(await phone.locator('.user-code').textContent()).toBe(code);
      await saveScreenshot(phone, 'device-phone-2-decision');
      await phone.getByRole('button', { name: 'Allow', exact: true }).focus();
      await phone.keyboard.press('Enter');
      await phone.locator('#username:focus').waitFor();
      await phone.keyboard.type(player.username);
      await phone.keyboard.press('Tab');
      await phone.keyboard.type(player.password);
      await phone.keyboard.press('Enter');
      await phone.getByRole('heading', { name: 'Allow access?' }).waitFor();
      await saveScreenshot(phone, 'device-phone-3-consent');
      await phone.getByRole('button', { name: 'Allow', exact: true }).focus();
      await phone.keyboard.press('Enter');
      await phone.getByRole('heading', { name: 'Bay 7 screen is connected' }).waitFor();
      await saveScreenshot(phone, 'device-phone-4-connected');

      // Simulates a wait of 10 s. Without it, the second poll would follow too soon after the first one (`slow_down`).
      await createDevice(server).passTime(10);
      expect(await poll(screen)).toBe('Welcome, Pat Player');
      await saveScreenshot(screen, 'device-screen');
    },
    60_000,
  );
});
