// Starts both services and Chromium, for tests that use the pages as a user does.
import { freePort } from '@bay-booking/postgres/ports';
import { type Browser, chromiumMissing, hasChromium, launchChromium, type Page } from '@bay-booking/testkit/browser';
import { useFixture } from '@bay-booking/testkit/fixture';
import { describe } from '@jest/globals';
import { startTestSystem } from './test-system.ts';

export type ContextOptions = Parameters<Browser['newContext']>[0];

export interface BrowserSystem {
  /** The addresses of the services. */
  readonly auth: string;
  readonly bookings: string;
  /** Opens an empty page in a new browser context, which shares no cookies with other pages. */
  readonly openPage: (options?: ContextOptions) => Promise<Page>;
  readonly close: () => Promise<void>;
}

/** Declares tests that need Chromium. They are skipped on a machine without Chromium. */
export function describeInChromium(title: string, declareTests: () => void): void {
  if (!hasChromium) process.stderr.write(`skipping the tests of ${title}: ${chromiumMissing}\n`);
  (hasChromium ? describe : describe.skip)(title, declareTests);
}

/** On busy cores, the start of the system alone may take more than a minute. */
const startTimeoutMs = 180_000;

/**
 * Starts the system and Chromium before the tests of a describe block, and closes them after the tests. `environment`
 * returns environment variables of auth. It is a function, because a variable may contain the address of a
 * server that an earlier `beforeAll` starts.
 */
export const useBrowserSystem = (environment: () => Record<string, string> = () => ({})): BrowserSystem =>
  useFixture(async () => {
    const [system, browser, port] = await Promise.all([startTestSystem(), launchChromium(), freePort()]);
    const bookings = `http://localhost:${port}`;
    const [auth] = await Promise.all([
      system.startAuth({ BOOKINGS_AUDIENCE: bookings, ...environment() }),
      system.startBookings({ BASE_URL: bookings }, { port }),
    ]);
    return {
      auth: auth.base,
      bookings,
      openPage: async (options) => {
        // Switches CSS transitions off. During a transition, the accessibility checker axe would measure a colour
        // between the old and the new colour.
        const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options });
        // On busy cores, Swagger UI alone can take half a minute.
        context.setDefaultTimeout(100_000);
        return context.newPage();
      },
      close: async () => {
        await browser.close();
        await system.close();
      },
    };
  }, startTimeoutMs);
