// How do tests see pages as people do? In a real Chromium (CHROMIUM_PATH, else /usr/bin/chromium), with axe to find what keeps people out.
// Where there is none, tests of pages are left out and say so.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromiumPath, findChromium } from './programs.ts';

export const hasChromium = findChromium() !== undefined;
export const withoutChromium = `no browser at ${chromiumPath} (set CHROMIUM_PATH)`;

export const openChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

export interface Look {
  readonly width: 390 | 1280;
  readonly scheme: 'light' | 'dark';
}

export const looks: readonly Look[] = [
  { width: 1280, scheme: 'light' },
  { width: 390, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
  { width: 390, scheme: 'dark' },
];

export const contextOptions = ({ width, scheme }: Look, javaScriptEnabled: boolean) =>
  ({ viewport: { width, height: 900 }, colorScheme: scheme, javaScriptEnabled, locale: 'en-GB' }) as const;

export interface Violation {
  readonly id: string;
  readonly nodes: readonly string[];
}

/** What axe finds against WCAG 2.2 AA and its best practices, in a copy of the page that runs scripts, since the page under test may not. */
export async function findViolations(page: Page): Promise<readonly Violation[]> {
  const browser = page.context().browser();
  if (!browser) throw new Error('the page has no browser');
  const viewport = page.viewportSize();
  const scheme = await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches').catch(() => false);
  const context = await browser.newContext({
    ...(viewport && { viewport }),
    colorScheme: scheme ? 'dark' : 'light',
    bypassCSP: true,
  });
  try {
    const copy = await context.newPage();
    // The page as it stands: asking for it again could answer something else.
    await copy.route(page.url(), async (route) =>
      route.fulfill({ body: await page.content(), contentType: 'text/html' }),
    );
    await copy.goto(page.url(), { waitUntil: 'load' });
    return await findViolationsInside(copy);
  } finally {
    await context.close();
  }
}

/** The same, within a page that runs scripts: many looks of one page are quicker so. Reduced motion, or colours are still on their way. */
export async function findViolationsInside(page: Page): Promise<readonly Violation[]> {
  // What a tester evaluates is bound by no policy of the page.
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

/** Whether something sticks out to the side, so that people on phones would have to scroll both ways. */
export const overflows = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');

/** A picture for people to look at, where TEST_SHOTS names a folder. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env.TEST_SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

export type { Browser, BrowserContext, Page };
