// Tests the portal in Chromium, in the steps of the specification, "Bookings API access". An owner invites a service
// account. The service account creates a personal access token, books a bay, and finally loses its role. Each test
// begins where the previous one ended. axe checks the accessibility of the pages.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expectAccessible, type Page, type Viewport, viewports } from '@bay-booking/testkit/browser';
import { type SmtpSink, startSmtpSink } from '@bay-booking/testkit/smtp-sink';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { callApi } from './support/api.ts';
import { type ContextOptions, describeInChromium, useBrowserSystem } from './support/browser-system.ts';

const newcomer = 'site@partner.example';
const password = 'seven unusual lamps';

let checkedPages = 0;
/** Checks a page in one viewport, which the pages take in turn. */
const checkPage = (page: Page, name: string): Promise<void> =>
  expectAccessible(page, `portal-${name}`, [viewports[checkedPages++ % viewports.length] as Viewport]);

async function signIn(page: Page, portal: string, username: string, secret: string): Promise<void> {
  await page.goto(portal);
  await page.getByLabel('E-mail address or user name').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Runs a shell command that prints JSON. */
const run = async (command: string): Promise<Record<string, unknown>> =>
  JSON.parse((await promisify(execFile)('sh', ['-c', command], { timeout: 50_000 })).stdout);

describeInChromium('the portal', () => {
  let smtp: SmtpSink;
  beforeAll(async () => {
    smtp = await startSmtpSink();
  });
  // The environment is the result of a function, because the address of the mail server is known only after beforeAll.
  const system = useBrowserSystem(() => ({ SMTP_URL: smtp.url }));
  afterAll(() => smtp?.close());

  let owner: Page;
  let partner: Page;
  /**
   * The secret of a new token, and two shell commands that use it. A test reads them from the page that shows the
   * secret once.
   */
  const token = { secret: '', curl: '', next: '' };

  const visit = (options?: ContextOptions): Promise<Page> =>
    system.openPage({ viewport: { width: 1280, height: 900 }, timezoneId: 'Asia/Tokyo', ...options });
  const portal = () => `${system.auth}/portal`;
  const invitationLink = async (email: string): Promise<string> => {
    const { text } = await smtp.mailTo(email, (mail) => mail.text.includes('/portal/invitation'));
    return /http\S+\/portal\/invitation\?token=[\w-]+/.exec(text)?.[0] as string;
  };
  beforeAll(async () => {
    [owner, partner] = await Promise.all([visit(), visit({ permissions: ['clipboard-read', 'clipboard-write'] })]);
  });

  test('a facility owner signs in and sees the facility', async () => {
    await signIn(owner, portal(), 'owner@north.example', 'demo-owner-pass');
    await owner.getByRole('heading', { name: 'North Range', level: 1 }).waitFor();
    await checkPage(owner, 'facility');
    // On a phone, the button stands below the label of the switch.
    await owner.setViewportSize({ width: 390, height: 900 });
    const label = await owner.locator('label[for="requireSecondFactor-yes"]').boundingBox();
    const save = await owner.getByRole('button', { name: 'Save' }).boundingBox();
    expect(save?.y).toBeGreaterThan((label?.y ?? Infinity) + (label?.height ?? 0));
    await owner.setViewportSize({ width: 1280, height: 900 });
    await owner.getByRole('link', { name: 'History' }).click();
    await owner.getByText('The operator of the service created the facility').waitFor();
    await checkPage(owner, 'history-of-import');
  });

  test('the owner invites a service account with the Bookings Manager role', async () => {
    await owner.getByRole('link', { name: 'People' }).click();
    const email = owner.getByLabel('E-mail address');
    await email.fill('bookings@partner');
    await owner.getByLabel('Bookings Manager, for software').check();
    await owner.getByRole('button', { name: 'Send the invitation' }).click();
    await owner.getByText('There is a problem').waitFor();
    expect(await email.inputValue()).toBe('bookings@partner');
    await checkPage(owner, 'facility-error');
    await email.fill(newcomer);
    await owner.getByRole('button', { name: 'Send the invitation' }).click();
    await owner.getByRole('status').getByText('The invitation is on its way').waitFor();
    await checkPage(owner, 'facility-invited');
  });

  test('the partner accepts the invitation with a name and a password', async () => {
    await partner.goto(await invitationLink(newcomer));
    await checkPage(partner, 'join');
    await partner.getByLabel('Name of the service account (optional)').fill('Partner booking site');
    await partner.getByLabel('Password', { exact: true }).fill('password1');
    await partner.getByRole('button', { name: 'Accept the invitation' }).click();
    await partner.getByText('among the first that an attacker would try').first().waitFor();
    await checkPage(partner, 'join-error');
    await partner.getByLabel('Password', { exact: true }).fill(password);
    await partner.getByRole('button', { name: 'Accept the invitation' }).click();
    await partner.getByRole('heading', { name: 'Personal access tokens' }).waitFor();
  });

  test('the service account signs in', async () => {
    await partner.getByRole('button', { name: 'Sign out' }).click();
    await partner.getByRole('heading', { name: 'You are signed out' }).waitFor();
    await signIn(partner, portal(), newcomer, password);
    await partner.getByText('You have no active token.').waitFor();
    // The labels of the form have the names of facilities, which may be long words.
    const labels = partner.locator('label');
    await labels.evaluateAll((all) => all.map((label) => label.append('W'.repeat(256))));
    await checkPage(partner, 'tokens-empty');
    await partner.reload();
  });

  test('the service account creates a personal access token and sees its secret exactly once', async () => {
    await partner.getByLabel('Name', { exact: true }).fill('Booking site');
    expect(await partner.getByLabel('Expires in').inputValue()).toBe('90');
    // The user has to choose, so the browser does not send the form yet.
    await partner.getByRole('button', { name: 'Create token' }).click();
    expect(await partner.locator('[name="access"]:invalid').count()).toBe(2);
    await partner.getByLabel('Write').check();
    await partner.getByRole('button', { name: 'Create token' }).click();
    await partner.getByRole('heading', { name: 'Your token is ready' }).waitFor();
    await checkPage(partner, 'secret');
    token.secret = (await partner.locator('#client-secret').textContent()) as string;
    token.curl = (await partner.locator('#curl').textContent()) as string;
    token.next = (await partner.locator('#next').textContent()) as string;

    const copyButtons = partner.getByRole('button', { name: 'Copy' });
    // The first button copies the client_id.
    await copyButtons.nth(1).click();
    await partner.getByText('The client_secret copied.').waitFor();
    expect(await partner.evaluate('navigator.clipboard.readText()')).toBe(token.secret);

    await partner.reload();
    await partner.getByRole('heading', { name: 'The secret was already shown' }).waitFor();
    await checkPage(partner, 'secret-again');
    await partner.goBack();
    expect(await partner.content()).not.toContain(token.secret);
    await partner.goto(portal());
    // The table has a header row and the row of the token.
    expect(await partner.getByRole('row').count()).toBe(2);
  });

  test('the `curl` command on the page gets an access token, which creates a booking', async () => {
    const response = await run(token.curl);
    expect(response).toMatchObject({ token_type: 'Bearer' });
    const { items } = await run(token.next.replace('ACCESS_TOKEN', String(response.access_token)));
    expect(items).toContainEqual(expect.objectContaining({ id: 'bay-n1-01' }));
    const booking = await callApi(system.bookings, String(response.access_token), 'POST', '/api/bookings', {
      bayId: 'bay-n1-01',
      userAlias: 'ada',
      startDate: '2199-01-01T10:00:00.000Z',
      endDate: '2199-01-01T11:00:00.000Z',
    });
    expect(booking.status).toBe(201);
  });

  test('the list shows the last use of the token in the time zone of the facility', async () => {
    const used = partner.getByRole('cell', { name: /from .*(127\.0\.0\.1|::1)/ });
    // The server stores the use of a token only after its response, so the page may have to be loaded again.
    for (let tries = 0; tries < 20 && (await used.count()) === 0; tries++) await partner.reload();
    expect(await used.count()).toBe(1);
    const time = partner.locator('time').first();
    const iso = (await time.getAttribute('datetime')) as string;
    expect(await time.getAttribute('title')).toBe(iso);
    const timeZone = 'Europe/Copenhagen';
    const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone });
    expect(await time.textContent()).toBe(format.format(new Date(iso)));
    await partner.getByText(`Times are in ${timeZone}.`).waitFor();
    await checkPage(partner, 'tokens');
  });

  test('the owner sees what the token may do', async () => {
    await owner.getByRole('link', { name: 'Tokens' }).click();
    await owner.getByRole('row', { name: /^Booking site Partner booking site Write / }).waitFor();
    await checkPage(owner, 'facility-tokens');
    await owner.getByRole('link', { name: 'Revoke Booking site' }).click();
    await checkPage(owner, 'facility-revoke-token');
    await owner.getByRole('link', { name: 'Cancel' }).click();
    await owner.getByRole('link', { name: 'People' }).click();
  });

  test('without JavaScript there are no buttons that need JavaScript', async () => {
    const page = await visit({ javaScriptEnabled: false });
    await signIn(page, portal(), newcomer, password);
    await page.getByRole('link', { name: 'Rotate Booking site' }).click();
    await page.getByRole('button', { name: 'Create the new secret' }).click();
    await page.getByRole('heading', { name: 'The new secret is ready' }).waitFor();
    expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(0);
    await page.getByRole('link', { name: "I've saved the secret" }).click();
    await page.getByText('2 valid secrets').waitFor();
  });

  test('before a token is rotated or revoked, a page asks for confirmation', async () => {
    await partner.goto(portal());
    await partner.getByRole('link', { name: 'Rotate Booking site' }).click();
    await checkPage(partner, 'rotate');
    await partner.getByRole('link', { name: 'Cancel' }).click();
    await checkPage(partner, 'tokens-rotated');
    await partner.getByRole('link', { name: 'Revoke Booking site' }).click();
    await checkPage(partner, 'revoke-token');
    await partner.getByRole('link', { name: 'Cancel' }).click();
  });

  test('after the owner has revoked the role, the next token request is rejected', async () => {
    // The command contains the secret from before the rotation, which stays valid for a day.
    expect(await run(token.curl)).toMatchObject({ token_type: 'Bearer' });
    await owner.goto(portal());
    await checkPage(owner, 'facility-people');
    await owner.getByRole('link', { name: 'Revoke Partner booking site' }).click();
    await owner.getByText('Within 15 seconds').waitFor();
    await checkPage(owner, 'revoke');
    await owner.getByRole('button', { name: 'Revoke the role' }).click();
    await owner.getByRole('status').getByText('The role was revoked').waitFor();
    expect(await run(token.curl)).toMatchObject({ error: 'invalid_scope' });
    await partner.goto(portal());
    await partner.getByText('This account has no role at any facility').waitFor();
    await checkPage(partner, 'tokens-no-facility');
  });

  test('the history shows every change', async () => {
    await owner.getByRole('link', { name: 'History' }).click();
    const events = await owner.locator('.ruled li > p:first-child').allTextContents();
    expect(events.map((text) => text.replace(/\.$/, ''))).toEqual([
      'Nora North revoked the role Bookings Manager of Partner booking site',
      'Partner booking site rotated the personal access token “Booking site”; the old secret worked for another 1 day',
      'Partner booking site created the personal access token “Booking site”, valid for 90 days',
      `Partner booking site accepted the invitation of ${newcomer} and became Bookings Manager`,
      `Nora North invited ${newcomer} as Bookings Manager`,
      // An import writes accounts in the order of their user names.
      'The operator of the service made Sigrid North Staff',
      'The operator of the service made Nora North Owner',
      'The operator of the service made North Facility Manager Facility Manager',
      'The operator of the service made North Bookings Bot Bookings Manager',
      'The operator of the service created the facility',
    ]);
    await checkPage(owner, 'history');
  });

  test('a user with an account accepts an invitation, and then chooses between two facilities', async () => {
    const southOwner = await visit();
    await signIn(southOwner, portal(), 'owner@south.example', 'demo-owner-pass');
    await southOwner.getByLabel('E-mail address').fill('owner@north.example');
    await southOwner.getByLabel('Staff, for a person').check();
    await southOwner.getByRole('button', { name: 'Send the invitation' }).click();
    await southOwner.getByRole('link', { name: /^Withdraw/ }).click();
    // `southOwner` opens the page that asks for confirmation, but does not confirm the withdrawal. The invitation
    // therefore stays valid.
    await checkPage(southOwner, 'withdraw');
    const link = await invitationLink('owner@north.example');
    await southOwner.goto(link);
    await checkPage(southOwner, 'accept-as-another');
    const stranger = await visit();
    await stranger.goto(link);
    await checkPage(stranger, 'accept-sign-in');
    await owner.goto(link);
    await checkPage(owner, 'accept');
    await owner.getByRole('button', { name: 'Accept the invitation' }).click();
    await owner.getByRole('heading', { name: 'Your facilities' }).waitFor();
    await checkPage(owner, 'facilities');
    await owner.goto(link);
    await owner.getByText('It was already accepted.').waitFor();
    await checkPage(owner, 'link-used');
    await southOwner.goto(portal());
    await southOwner.getByRole('link', { name: 'Change role of Nora North' }).click();
    await checkPage(southOwner, 'role');
  });

  test('a player without a facility sees a page that explains how to get a role', async () => {
    const player = await visit();
    await signIn(player, portal(), 'player@example.com', 'demo-player-pass');
    await player.getByRole('heading', { name: 'You have no facility yet' }).waitFor();
    await checkPage(player, 'no-facility');
    await player.goto(`${portal()}/facilities/fac-north`);
    await checkPage(player, 'not-found');
  });
});
