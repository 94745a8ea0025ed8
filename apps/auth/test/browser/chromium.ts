// Starts Chromium for the tests of pages, which are skipped on a machine without Chromium.
import { type Browser, chromiumMissing, hasChromium, launchChromium } from '@bay-booking/testkit/browser';
import { useFixture } from '@bay-booking/testkit/fixture';
import { serveHttp } from '@bay-booking/testkit/http-server';
import { test } from '@jest/globals';

if (!hasChromium) process.stderr.write(`skipping the tests of pages: ${chromiumMissing}\n`);
export const withBrowser = hasChromium ? test : test.skip;

/**
 * Starts Chromium before the tests of a file, and closes it after them. At the redirect URIs of the demo clients, the
 * browser finds an application, which has another port in truth.
 */
export const useChromium = () =>
  useFixture(async () => {
    const application = await serveHttp((_request, response) => {
      response.setHeader('Content-Type', 'text/html').end('<title>The application</title>');
    });
    const mapping = `--host-resolver-rules=MAP localhost:4010 127.0.0.1:${application.port}`;
    const browser = hasChromium ? await launchChromium(mapping) : undefined;
    return {
      newContext: (options: Parameters<Browser['newContext']>[0]) => (browser as Browser).newContext(options),
      close: async () => {
        await browser?.close();
        await application.close();
      },
    };
  }, 60_000);
