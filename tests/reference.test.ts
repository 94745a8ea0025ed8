// Tests the API reference, the page /docs of bookings, in Chromium. The page contains Swagger UI, with which a reader
// gets a token and sends requests. The page must load files from bookings only, and must be accessible.
import { findViolations, overflowsHorizontally, type Page, saveScreenshot } from '@bay-booking/testkit/browser';
import { expect, test } from '@jest/globals';
import { type BrowserSystem, describeInChromium, useBrowserSystem } from './support/browser-system.ts';

/** Accessibility problems of Swagger UI itself, which we cannot correct. None of them is serious. */
const violationsOfSwaggerUi = new Set(['region', 'heading-order', 'landmark-unique']);

/** Returns the colours and the font of a page. */
const lookOfPage = `(() => {
  const style = getComputedStyle(document.documentElement);
  return ['--accent', '--muted', '--ground', 'color', 'background-color', 'font-family'].map((name) => style.getPropertyValue(name));
})()`;

/** Returns the visible controls that are smaller than 24 pixels (WCAG 2.2, "Target Size (Minimum)"). */
const smallControls = `[...document.querySelectorAll('a, button, input, select, textarea, summary')]
  .map((control) => ({ control, box: control.getBoundingClientRect() }))
  .filter(({ box }) => box.width > 0 && box.height > 0 && (box.width < 24 || box.height < 24))
  .map(({ control }) => control.outerHTML)`;

interface Visit {
  readonly page: Page;
  /** The origins to which the page has sent requests. */
  readonly origins: Set<string>;
  /** Errors of scripts, and logged warnings and errors, such as violations of the content security policy. */
  readonly browserErrors: string[];
}

/** Every test uses the same page, because Chromium compiles the scripts of Swagger UI again in each new context. */
let sharedPage: Promise<Page> | undefined;

async function visit(system: BrowserSystem, path = '/docs'): Promise<Visit> {
  sharedPage ??= system.openPage();
  const page = await sharedPage;
  await page.removeAllListeners();
  // A URL that differs from the previous one only in its fragment would not load the page again.
  await page.goto('about:blank');
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  const origins = new Set<string>();
  const browserErrors: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin);
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) browserErrors.push(message.text());
  });
  page.on('pageerror', (error) => browserErrors.push(error.message));
  await page.goto(`${system.bookings}${path}`);
  return { page, origins, browserErrors };
}

/** Checks that the page is not wider than windows of these widths, and has no small controls in them. */
async function expectToFit(page: Page, widths: readonly number[]): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const overflows = await overflowsHorizontally(page);
    expect({ width, overflows, small: await page.evaluate(smallControls) }).toEqual({
      width,
      overflows: false,
      small: [],
    });
    await saveScreenshot(page, `reference-${width}`);
  }
}

/** On a phone, the description of a group stands below its heading. */
async function expectDescriptionBelow(page: Page, title: string): Promise<void> {
  const group = page.locator('.opblock-tag').filter({ hasText: title });
  const [heading, description] = await Promise.all(
    ['a, span', 'small'].map((part) => group.locator(part).first().boundingBox()),
  );
  if (!heading || !description) throw new Error('the group has no heading or description');
  expect(description.y).toBeGreaterThanOrEqual(heading.y + heading.height);
  expect(description.width).toBeGreaterThan(200);
}

async function findOurViolations(page: Page, selector?: string) {
  // Swagger UI changes the colours of its buttons during 0.3 s.
  await page.evaluate(`Promise.all(document.getAnimations()
    .filter((animation) => animation instanceof CSSTransition).map(({ finished }) => finished.catch(() => {})))`);
  return (await findViolations(page, selector)).filter(({ id }) => !violationsOfSwaggerUi.has(id));
}

/** Gets an access token with the open dialog "Authorize". */
async function authorize(page: Page): Promise<void> {
  const form = page.locator('.auth-container').filter({ hasText: 'clientCredentials' });
  await form.getByLabel('client_id:').fill('demo-pat-north');
  await form.getByLabel('client_secret:').fill('demo-pat-north-secret');
  await form.getByRole('button', { name: 'Authorize' }).click();
  await form.getByRole('button', { name: 'Logout' }).waitFor();
  await page.getByRole('button', { name: 'Close' }).first().click();
}

/** Sends a request with "Try it out". Returns the status of the response. */
async function tryOut(page: Page, operationId: string): Promise<string> {
  const operation = page.locator(`[id$="-${operationId}"]`);
  await operation.locator('.opblock-summary-control').click();
  await operation.getByRole('button', { name: 'Try it out' }).click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  return (await operation.locator('.live-responses-table .response .response-col_status').innerText()).trim();
}

describeInChromium('the API reference', () => {
  const system = useBrowserSystem();

  test('the page loads nothing from other hosts, sends requests with a token, is accessible and fits phones', async () => {
    const { page, origins, browserErrors } = await visit(system);
    await page.locator('.opblock').first().waitFor();
    expect([...origins]).toEqual([system.bookings]);
    await page.getByRole('button', { name: 'Authorize' }).click();
    expect(await findOurViolations(page, '.dialog-ux')).toEqual([]);
    await authorize(page);
    expect(await tryOut(page, 'listBookingBays')).toBe('200');
    await page.locator('#operations-Bookings-createBooking .opblock-summary-control').click();
    expect(await findOurViolations(page)).toEqual([]);
    await expectToFit(page, [768, 390, 320]);
    await expectDescriptionBelow(page, 'Opening hours and closures');
    const looks = async () => {
      const light = await page.evaluate(lookOfPage);
      await page.emulateMedia({ colorScheme: 'dark' });
      return [light, await page.evaluate(lookOfPage)];
    };
    const ofReference = await looks();
    await page.setViewportSize({ width: 1280, height: 900 });
    // The page has few colours, and the open operations show all of them.
    expect(await findOurViolations(page, '.opblock.is-open')).toEqual([]);
    await page.emulateMedia({ colorScheme: 'light' });
    // Swagger UI does not label the fields of these operations.
    for (const operationId of ['searchBookings', 'createHold'])
      expect([operationId, await tryOut(page, operationId)]).toEqual([operationId, expect.stringMatching(/^20[01]$/)]);
    expect([...origins]).toEqual([system.bookings, system.auth]);
    expect(browserErrors).toEqual([]);
    await page.goto(`${system.auth}/portal`);
    expect(await looks()).toEqual(ofReference);
  });

  test('the guide is accessible in light and dark mode and fits phones', async () => {
    const { page, browserErrors } = await visit(system, '/guide');
    expect(await findViolations(page)).toEqual([]);
    await saveScreenshot(page, 'guide-1280-light');
    await page.locator('main').getByRole('link', { name: 'typed client' }).first().click();
    await page.getByRole('heading', { level: 1, name: '@bay-booking/client' }).waitFor();
    await page
      .getByRole('navigation', { name: 'Contents' })
      .getByRole('link', { name: 'Behaviour', exact: true })
      .click();
    await page.getByRole('heading', { level: 1, name: 'Behaviour', exact: true }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectToFit(page, [1280, 768, 390]);
    expect(await findViolations(page)).toEqual([]);
    await saveScreenshot(page, 'guide-behaviour-390-dark');
    expect(browserErrors).toEqual([]);
  });

  test('a link to an operation shows its details, and the keyboard alone is enough to send a request', async () => {
    const { page } = await visit(system, '/docs#/Bookings/getBooking');
    await page.locator('#operations-Bookings-getBooking.is-open').getByText('Responses', { exact: true }).waitFor();
    const operation = page.locator('#operations-Places-listBookingBays');
    /** Presses Tab until the element with this text has the focus, and then Enter. */
    const pressButton = async (name: string) => {
      for (let presses = 0; presses < 200; presses++) {
        await page.keyboard.press('Tab');
        const focused = await page.evaluate<string>('document.activeElement.innerText || ""');
        if (focused.includes(name)) return page.keyboard.press('Enter');
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    await operation.waitFor();
    await pressButton('Authorize');
    await pressButton('Close');
    expect(await page.getByText('Available authorizations').count()).toBe(0);
    await pressButton('List the bays of a location');
    await operation.getByText('Try it out').waitFor();
    await pressButton('Try it out');
    await operation.getByText('Execute').waitFor();
    await pressButton('Execute');
    await operation.locator('.live-responses-table').waitFor();
  });
});
