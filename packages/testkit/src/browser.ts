// Opens pages in Chromium and checks their accessibility with axe. Tests of pages are skipped on a machine without
// Chromium.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, Locator, Page, Route } from 'playwright-core';
import { loadOnce } from './load-once.ts';
import { chromiumPath, findChromium } from './programs.ts';

// Playwright loads in half of the time outside of jest, and needs 15 % less processor time.
const playwright = pathToFileURL(createRequire(import.meta.url).resolve('playwright-core/package.json'));
const { chromium } = await loadOnce<typeof import('playwright-core')>(new URL('index.mjs', playwright));

export const hasChromium = findChromium() !== undefined;
export const chromiumMissing = `no browser at ${chromiumPath} (set CHROMIUM_PATH)`;

/**
 * Features of Chromium that are switched off. Chromium uses only the last `--disable-features`, so the list also has
 * the features that Playwright switches off and that make a difference to pages on localhost.
 */
const disabledFeatures = [
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  // Requests that Chromium sends by itself.
  'AimEnabled',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PreconnectToSearch',
  // A process that waits for a next page.
  'SpareRendererForSitePerProcess',
  // The suggestions below the address bar are pages, which take 0.8 s of a core in each new browser context.
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxPopup',
];

export const launchChromium = (...furtherArguments: readonly string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath,
    timeout: 120_000,
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
      `--disable-features=${disabledFeatures}`,
      ...furtherArguments,
    ],
  });

export interface Viewport {
  /** The width of a phone or of a desktop window, in CSS pixels. */
  readonly width: 390 | 1280;
  readonly scheme: 'light' | 'dark';
}

/** Each width and each scheme once: the layout depends on the width only, and the colours on the scheme only. */
export const viewports: readonly Viewport[] = [
  { width: 1280, scheme: 'light' },
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

interface PageCopy {
  readonly page: Page;
  readonly show: (url: string, body: string) => Promise<unknown>;
}

const copies = new WeakMap<Browser, Promise<PageCopy>>();

/** A route that is used once would be removed while styles and scripts load, which sometimes left them waiting. */
async function openCopy(browser: Browser): Promise<PageCopy> {
  const page = await (await browser.newContext({ bypassCSP: true, reducedMotion: 'reduce' })).newPage();
  const shown = { url: '', body: '' };
  const respond = (route: Route) => route.fulfill({ body: shown.body, contentType: 'text/html' });
  await page.route(({ href }) => href === shown.url, respond);
  const show = (url: string, body: string) => {
    Object.assign(shown, { url, body });
    return page.goto(url, { waitUntil: 'load' });
  };
  return { page, show };
}

/**
 * Opens a copy of the current content of a page, in which axe can run although the page itself forbids scripts. All
 * copies of a browser use one page, because Chromium starts a process for each browser context.
 */
async function copyForAxe(page: Page): Promise<Page> {
  const browser = page.context().browser();
  if (!browser) throw new Error('the page has no browser');
  const opened = copies.get(browser) ?? openCopy(browser);
  copies.set(browser, opened);
  const copy = await opened;
  // A URL that differs from the previous one only in its fragment would not load the new content. The page is not
  // requested again, because the server could return different content.
  await copy.show(page.url().replace(/#.*/, ''), await page.content());
  return copy.page;
}

/**
 * Returns the violations of WCAG 2.2 AA and of axe's best practices. The page must have JavaScript enabled. If its
 * colour scheme changes, its context needs the option `reducedMotion`, or axe measures colours during a transition.
 */
export async function findViolations(page: Page, selector = 'html'): Promise<readonly Violation[]> {
  // The page's content security policy does not prevent this, because Playwright evaluates the script.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  // Without `resultTypes`, axe also describes every element that passes, which takes most of its time.
  const options = JSON.stringify({ runOnly: tags, resultTypes: ['violations'] });
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(selector)}, ${options})`)) as {
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

const widths = [390, 600, 768, 900, 1280];

/** Returns the widths of windows in pixels at which the page or one of its cards is wider than its space. */
async function findOverflowingWidths(page: Page): Promise<readonly number[]> {
  const overflowing: number[] = [];
  // The elements of a page can be there before its style sheet.
  await page.waitForLoadState();
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const cards = await page.evaluate<boolean>(
      `[...document.querySelectorAll('.card')].some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)`,
    );
    if (cards || (await overflowsHorizontally(page))) overflowing.push(width);
  }
  return overflowing;
}

/** Saves a screenshot of the full page in the folder TEST_SHOTS. Does nothing if TEST_SHOTS is not set. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.TEST_SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Expects that the page fits into every width, and has no axe violation in these viewports. */
export async function expectAccessible(page: Page, name: string, shownIn = viewports): Promise<void> {
  expect({ name, widths: await findOverflowingWidths(page) }).toEqual({ name, widths: [] });
  const copy = await copyForAxe(page);
  for (const { width, scheme } of shownIn) {
    await copy.setViewportSize({ width, height: 900 });
    await copy.emulateMedia({ colorScheme: scheme });
    expect({ name, scheme, violations: await findViolations(copy) }).toEqual({ name, scheme, violations: [] });
    await saveScreenshot(copy, `${name.replaceAll(/[^a-z]+/g, '-')}-${width}-${scheme}`);
  }
}

export type { Browser, Locator, Page };
