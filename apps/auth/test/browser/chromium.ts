// Starts Chromium for the tests of pages, which are skipped on a machine without Chromium, and checks a page.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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

/**
 * Starts Chromium before the tests of a file, and closes it after them. At the redirect URIs of the demo clients, the
 * browser finds an application, which has another port in truth.
 */
export const useChromium = () =>
  useFixture(async () => {
    const application = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html').end('<title>The application</title>');
    }).listen(0, '127.0.0.1');
    await once(application, 'listening');
    const { port } = application.address() as AddressInfo;
    const mapping = `--host-resolver-rules=MAP localhost:4010 127.0.0.1:${port}`;
    const browser = hasChromium ? await launchChromium(mapping) : undefined;
    return {
      newContext: (options: Parameters<Browser['newContext']>[0]) => (browser as Browser).newContext(options),
      close: async () => {
        await browser?.close();
        application.close();
      },
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
