// Tests the pages of second factors in Chromium, with its virtual authenticator: with a keyboard, on a phone, in dark
// mode, and without JavaScript (docs/sign-in-security.md).
import { readFile } from 'node:fs/promises';
import { contextOptions, expectAccessible, type Page, type Viewport, viewports } from '@bay-booking/testkit/browser';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect } from '@jest/globals';
import { startAuthServer } from '../auth-server.ts';
import { codeInLog, codeOf, confirmAddresses } from '../factors-fixture.ts';
import { password, registerUser } from '../test-users.ts';
import { useChromium, withBrowser } from './chromium.ts';

const server = useFixture(() => startAuthServer({}, { host: 'localhost' }));
const browser = useChromium();
const [desktop] = viewports as [Viewport];

const newPage = async (): Promise<Page> => (await browser.newContext(contextOptions(desktop, true))).newPage();

async function addAuthenticator(page: Page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** While this is false, the authenticator waits, as for a user who does not touch it. */
    setPresent: (enabled: boolean) => cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
  };
}

async function signIn(page: Page, username: string, path = '/account'): Promise<void> {
  await page.goto(`${server.origin}${path}`);
  await page.fill('input[name="username"]', username);
  await page.fill('input[name="password"]', password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function addPasskey(page: Page, username: string): Promise<void> {
  await confirmAddresses(server);
  await page.goto(`${server.origin}/account/security`);
  await page.getByRole('link', { name: 'Add a passkey' }).click();
  await page.fill('input[name="mailCode"]', await codeInLog(server, username));
  await page.getByRole('button', { name: 'Add a passkey' }).click();
}

withBrowser(
  'a passkey is added, signs in alone from the autofill and from the button, and confirms',
  async () => {
    const { username } = await registerUser(server);
    const page = await newPage();
    const authenticator = await addAuthenticator(page);
    await signIn(page, username);
    await addPasskey(page, username);
    await page.waitForSelector('h1:text("Save your recovery codes")');
    await page.getByRole('link', { name: 'saved' }).click();
    expect(await page.locator('tbody tr').count()).toBe(1);
    expect(await page.locator('tbody').innerText()).toContain('Chrome');

    await authenticator.setPresent(false);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    // The request of the autofill waits. The authenticator answers only requests that begin while the user is present.
    await page.goto(`${server.origin}/sign-in`, { waitUntil: 'networkidle' });
    await authenticator.setPresent(true);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.waitForURL(`${server.origin}/account`);

    // The authenticator answers the request of the autofill as a user does who chooses the passkey there.
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.goto(`${server.origin}/sign-in`);
    await page.waitForURL(`${server.origin}/account`);
  },
  60_000,
);

withBrowser(
  'the pages are accessible and fit at every width, in both colour schemes',
  async () => {
    const { username } = await registerUser(server);
    const page = await newPage();
    const authenticator = await addAuthenticator(page);
    const check = (name: string): Promise<void> => expectAccessible(page, `factors-${name}`);
    await signIn(page, username);
    await page.goto(`${server.origin}/account/security?return=/account`);
    await check('unconfirmed');
    await confirmAddresses(server);
    await page.goto(`${server.origin}/account/security?return=/account`);
    await check('empty');
    await page.goto(`${server.origin}/account/security/authenticator`);
    await check('authenticator');
    const secret = ((await page.locator('#secret').textContent()) ?? '').replaceAll(' ', '');
    await page.fill('input[name="code"]', codeOf(secret));
    await page.fill('input[name="mailCode"]', '1');
    await page.getByRole('button', { name: 'Turn it on' }).click();
    await check('wrong-mail-code');
    await page.fill('input[name="code"]', codeOf(secret));
    await page.fill('input[name="mailCode"]', await codeInLog(server, username));
    await page.getByRole('button', { name: 'Turn it on' }).click();
    await page.waitForSelector('h1:text("Save your recovery codes")');
    await check('recovery-codes');
    expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(true);
    const codes = await page.locator('#recovery-codes').innerText();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('bay-booking-recovery-codes.txt');
    expect(await readFile(await download.path(), 'utf8')).toBe(`${codes}\n`);
    await page.goto(`${server.origin}/account/security/passkey`);
    await check('passkey');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.waitForURL(/done=passkey-added/);
    await check('complete');
    await page.getByRole('link', { name: 'Remove the authenticator app' }).click();
    await check('remove');
    await authenticator.setPresent(false);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.goto(`${server.origin}/sign-in`);
    await page.waitForSelector('button:text("Use a passkey")');
    await check('sign-in');
    await signIn(page, username);
    await page.waitForSelector('h1:text("One more step to sign in")');
    await check('second-factor');
    await page.fill('input[name="code"]', '1');
    await page.getByRole('button', { name: 'Continue' }).click();
    await check('wrong-code');
    // The passkey is the second factor too, with the keyboard.
    await authenticator.setPresent(true);
    await page.getByRole('button', { name: 'Use your passkey' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${server.origin}/account`);
  },
  120_000,
);
