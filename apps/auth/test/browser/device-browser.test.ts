// Tests device sign-in with two pages in Chromium (docs/behaviour-auth.md, "Device sign-in"). The first page simulates
// the device: a screen that runs a web application, which polls for tokens. The second page simulates the phone of the
// user, which shows our pages without JavaScript.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Browser,
  chromiumMissing,
  contextOptions,
  hasChromium,
  launchChromium,
  type Page,
  saveScreenshot,
} from '@bay-booking/testkit/browser';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AuthServer, scopes, startAuthServer } from '../auth-server.ts';
import { createDevice, deviceCodeGrant } from '../device-fixture.ts';
import { player } from '../flows.ts';

if (!hasChromium) process.stderr.write(`skipping the test of a screen and a phone: ${chromiumMissing}\n`);
const withBrowser = hasChromium ? test : test.skip;

let server: AuthServer;
let browser: Browser;
/** Serves the page of the screen, which is the device that signs in. */
let application: Server;
let screenAddress: string;
beforeAll(async () => {
  if (!hasChromium) return;
  [server, browser] = await Promise.all([startAuthServer(), launchChromium()]);
  // The page of the screen must come from a real server, because Chromium does not let a page of an intercepted request
  // call loopback addresses.
  application = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(screenHtml(server.origin));
  });
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
  screenAddress = `http://127.0.0.1:${(application.address() as AddressInfo).port}/screen`;
  await server.load({
    clients: [
      {
        client_id: 'bay-screen',
        client_name: 'Bay 7 screen',
        kind: 'driving-range',
        redirect_uris: [screenAddress],
        response_types: ['code'],
        grant_types: ['authorization_code', deviceCodeGrant, 'refresh_token'],
        scope: `openid profile roles offline_access ${scopes.play}`,
      },
    ],
  });
}, 60_000);
afterAll(async () => {
  await browser?.close();
  application?.close();
  await server?.close();
});

/**
 * Returns a page that acts as the device, a screen at a bay. A real screen polls with a timer. This page polls when its
 * button is pressed, and then shows the error or the name of the user.
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
  await page.goto(screenAddress);
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

withBrowser(
  'verification_uri_complete fills in the code, and a denial leaves the screen signed out',
  async () => {
    const screen = await openScreen();
    const code = await readCode(screen);
    const phone = await openPhone(screen);
    await phone.goto(`${phone.url()}?user_code=${code}`);
    expect(await phone.getByLabel('Code').inputValue()).toBe(code);
    await phone.getByRole('button', { name: 'Continue' }).click();
    await phone.getByRole('button', { name: 'Do not allow' }).click();
    await phone.getByRole('heading', { name: 'The device is not connected' }).waitFor();
    expect(await poll(screen)).toBe('access_denied');
  },
  60_000,
);
