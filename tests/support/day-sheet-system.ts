// Starts both services with a day sheet and Chromium, for tests that use the day sheet as the people at a range do.
import { freePort } from '@bay-booking/postgres/ports';
import { type Browser, chromiumMissing, hasChromium, launchChromium, type Page } from '@bay-booking/testkit/browser';
import { useFixture } from '@bay-booking/testkit/fixture';
import { callApi } from './api.ts';
import { type AppName, runCommand } from './commands.ts';
import type { Instance } from './instance.ts';
import { getToken, startTestSystem } from './test-system.ts';

type BrowserContext = ReturnType<Page['context']>;
export type ContextOptions = Parameters<Browser['newContext']>[0];

/** The password of every account. */
const password = 'demo-owner-pass';

export interface DaySheetSystem {
  readonly base: string;
  readonly issuer: string;
  readonly bookings: Instance;
  /** Sends a request as another program. Throws unless the status is 2xx. */
  readonly call: <Body = { id: string }>(method: string, path: string, body?: object) => Promise<Body>;
  readonly importInto: (app: AppName, document: object) => Promise<string>;
  readonly query: (app: AppName, sql: string, values?: unknown[]) => Promise<unknown>;
  /** Starts bookings again. `environment` has further variables. */
  readonly restartBookings: (environment: Record<string, string>) => Promise<void>;
  /** Opens the day sheet in a new browser context and signs in. A user types the password only once. */
  readonly open: (query: string, options?: ContextOptions & { readonly username?: string }) => Promise<Page>;
  /** Open pages follow the changes of every test. */
  readonly closePages: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

export const useDaySheet = (): DaySheetSystem =>
  useFixture(async () => {
    if (!hasChromium) throw new Error(chromiumMissing);
    const [system, browser, port] = await Promise.all([startTestSystem(), launchChromium(), freePort()]);
    const base = `http://localhost:${port}`;
    const importInto = (app: AppName, document: object) =>
      runCommand(app, { DATABASE_URL: system.database.ownerUrlOf(app) }, 'import.ts', JSON.stringify(document));
    const accountAt = (name: string, kind: string, roles: readonly [north: string, south: string]) => ({
      id: `acc-${name}`,
      username: `${name}@example.com`,
      password,
      name,
      email: `${name}@example.com`,
      emailVerified: true,
      kind,
      memberships: ['fac-north', 'fac-south'].map((facilityId, index) => ({ facilityId, role: roles[index] })),
    });
    await importInto('auth', {
      accounts: [
        accountAt('both', 'user', ['staff', 'staff']),
        accountAt('mixed', 'service', ['facility-manager', 'bookings-manager']),
      ],
      clients: [
        {
          client_id: 'day-sheet',
          client_name: 'Day sheet',
          token_endpoint_auth_method: 'none',
          redirect_uris: [`${base}/day/`],
          post_logout_redirect_uris: [`${base}/day/`],
          scope: 'openid https://bay-booking.example/golf/bookings https://bay-booking.example/golf/schedule',
          access_token_ttl: 7_200,
        },
      ],
    });
    const auth = await system.startAuth({ BOOKINGS_AUDIENCE: base });
    const startBookings = (environment: Record<string, string> = {}) =>
      system.startBookings({ BASE_URL: base, DAY_SHEET_CLIENT_ID: 'day-sheet', ...environment }, { port });
    const [bookings, token] = await Promise.all([startBookings(), getToken(auth.base)]);
    /** The cookies of each user who has signed in. */
    const cookies = new Map<string, Awaited<ReturnType<BrowserContext['cookies']>>>();

    async function open(
      query: string,
      { username = 'owner@north.example', ...context }: ContextOptions & { username?: string } = {},
    ) {
      // Without reduced motion, axe would measure colours between the old and the new one.
      const opened = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...context });
      const page = await opened.newPage();
      const known = cookies.get(username);
      if (known) await opened.addCookies(known);
      await page.goto(`${base}/day${query}`);
      if (known) await page.locator(content).first().waitFor();
      else {
        await signIn(page, username);
        await allow(page);
        cookies.set(username, await opened.cookies());
      }
      return page;
    }

    return {
      base,
      issuer: auth.base,
      bookings,
      importInto,
      query: system.database.query,
      restartBookings: async (environment) => {
        await bookings.stop('SIGTERM');
        await startBookings(environment);
      },
      open,
      call: async <Body>(method: string, path: string, body?: object) => {
        const response = await callApi<Body>(base, token, method, path, body);
        if (response.status >= 300) throw new Error(`${response.status} ${JSON.stringify(response.body)}`);
        return response.body;
      },
      closePages: () => Promise.all(browser.contexts().map((context) => context.close())),
      close: async () => {
        await browser.close();
        await system.close();
      },
    };
  }, 120_000);

/** Signs in at auth. `recoveryCode` is the second factor of secure@north.example. */
export async function signIn(page: Page, username: string, recoveryCode = 'demo-0001'): Promise<void> {
  await page.getByLabel('E-mail address').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(username.startsWith('bot@') ? 'demo-bot-pass' : password);
  await page.keyboard.press('Enter');
  if (!username.startsWith('secure')) return;
  await page.getByLabel('Code').fill(recoveryCode);
  await page.keyboard.press('Enter');
}

/** The day, or a message of the page. */
const content = '.sheet, #content .text h1';

/** Gives consent, also again if the page asks for fewer scopes. */
export async function allow(page: Page): Promise<void> {
  const shown = page.locator(content).first();
  for (let pages = 0; pages < 2; pages += 1) {
    const button = page.getByRole('button', { name: 'Allow', exact: true });
    await button.or(shown).first().waitFor();
    if (await shown.isVisible()) return;
    await button.click();
  }
  await shown.waitFor();
}
