// Opens pages in Chromium and checks their accessibility with axe. Tests of pages are skipped on a machine without
// Chromium.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { chromiumPath, findChromium } from './programs.ts';

export const hasChromium = findChromium() !== undefined;
export const chromiumMissing = `no browser at ${chromiumPath} (set CHROMIUM_PATH)`;

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath,
    args: [
      // The sandbox of Chromium does not start as root or in most containers.
      '--no-sandbox',
      // Test machines often have no graphics processor, and no test needs HTTP/3.
      '--disable-gpu',
      '--disable-quic',
      // The following flags prevent requests that Chromium sends by itself.
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

export interface Viewport {
  /** The width of a phone or of a desktop window, in CSS pixels. */
  readonly width: 390 | 1280;
  readonly scheme: 'light' | 'dark';
}

export const viewports: readonly Viewport[] = [
  { width: 1280, scheme: 'light' },
  { width: 390, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
  { width: 390, scheme: 'dark' },
];

export const contextOptions = ({ width, scheme }: Viewport, javaScriptEnabled: boolean) =>
  ({ viewport: { width, height: 900 }, colorScheme: scheme, javaScriptEnabled, locale: 'en-GB' }) as const;

export interface Violation {
  /** The name of the violated rule of axe. */
  readonly id: string;
  /** For each element, its HTML and what is wrong with it. */
  readonly nodes: readonly string[];
}

/**
 * Returns the violations of WCAG 2.2 AA and of axe's best practices. Axe is a script, and the page may forbid scripts.
 * The function therefore examines a copy of the page in which scripts are allowed.
 */
export async function findViolations(page: Page): Promise<readonly Violation[]> {
  const browser = page.context().browser();
  if (!browser) throw new Error('the page has no browser');
  const viewport = page.viewportSize();
  const isDark = await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches');
  const context = await browser.newContext({
    ...(viewport && { viewport }),
    colorScheme: isDark ? 'dark' : 'light',
    bypassCSP: true,
  });
  try {
    const copy = await context.newPage();
    // The copy loads the current content of the page. It does not request the page from the server again, because the
    // server could return different content.
    await copy.route(page.url(), async (route) =>
      route.fulfill({ body: await page.content(), contentType: 'text/html' }),
    );
    await copy.goto(page.url(), { waitUntil: 'load' });
    return await findViolationsInPage(copy);
  } finally {
    await context.close();
  }
}

/**
 * Returns the accessibility rules that a page violates. The browser context of the page must have JavaScript enabled.
 *
 * Unlike `findViolations`, this function does not copy the page. This is faster when a test examines one page at
 * several sizes. If the colour scheme changes while the page is open, the browser context must have the option
 * `reducedMotion`. Axe would otherwise measure colours in the middle of a transition.
 */
export async function findViolationsInPage(page: Page): Promise<readonly Violation[]> {
  // The page's content security policy does not prevent this, because Playwright evaluates the script.
  await page.evaluate(axe.source);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const { violations } = (await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(tags)} })`)) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return violations.map(({ id, nodes }) => ({
    id,
    nodes: nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`),
  }));
}

/** Whether the page is wider than the viewport, so that users of phones have to scroll in two directions. */
export const overflowsHorizontally = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');

/** Saves a screenshot of the full page in the folder TEST_SHOTS. Does nothing if TEST_SHOTS is not set. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.TEST_SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

export type { Browser, Page };
