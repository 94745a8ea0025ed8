// Starts Chromium for the tests of pages, which are skipped on a machine without Chromium, and checks a page.
import {
  type Browser,
  chromiumMissing,
  copyForAxe,
  findOverflowingWidths,
  findViolations,
  hasChromium,
  launchChromium,
  type Page,
  saveScreenshot,
  viewports,
} from '@bay-booking/testkit/browser';
import { useFixture } from '@bay-booking/testkit/fixture';
import { expect, test } from '@jest/globals';

if (!hasChromium) process.stderr.write(`skipping the tests of pages: ${chromiumMissing}\n`);
export const withBrowser = hasChromium ? test : test.skip;

/** Starts Chromium before the tests of a file, and closes it after them. */
export const useChromium = () =>
  useFixture(async () => {
    const browser = hasChromium ? await launchChromium() : undefined;
    return {
      newContext: (options: Parameters<Browser['newContext']>[0]) => (browser as Browser).newContext(options),
      close: async () => browser?.close(),
    };
  }, 60_000);

/** Expects that the page fits into every width, and has no axe violation, as a phone and as a window show it. */
export async function checkPage(page: Page, name: string): Promise<void> {
  expect({ name, widths: await findOverflowingWidths(page) }).toEqual({ name, widths: [] });
  const copy = await copyForAxe(page);
  for (const { width, scheme } of viewports) {
    await copy.setViewportSize({ width, height: 900 });
    await copy.emulateMedia({ colorScheme: scheme });
    expect({ name, scheme, violations: await findViolations(copy) }).toEqual({ name, scheme, violations: [] });
    await saveScreenshot(copy, `${name.replaceAll(/[^a-z]+/g, '-')}-${width}-${scheme}`);
  }
}
