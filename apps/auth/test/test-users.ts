// Registers new users and signs users in, each in a new test browser.
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import type { AuthServer } from './auth-server.ts';

export const userAgents = {
  chrome: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
  firefox: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
};
export const password = 'seven unusual lamps';

export interface TestUser {
  readonly username: string;
  readonly browser: FormBrowser;
  /** The page "Your account". After a failed sign-in, the sign-in page with its error. */
  readonly account: Page;
}

const open = (server: AuthServer, userAgent: string): FormBrowser =>
  openFormBrowser([server.origin], { 'User-Agent': userAgent });

let userCount = 0;

export async function registerUser(server: AuthServer): Promise<TestUser> {
  const browser = open(server, userAgents.chrome);
  const username = `person${++userCount}@example.org`;
  const form = await browser.open(`${server.origin}/register`);
  const account = await browser.send(form, { name: 'Petra Person', username, password });
  return { username, browser, account };
}

export async function signInUser(
  server: AuthServer,
  username: string,
  { userAgent = userAgents.chrome, secret = password } = {},
): Promise<TestUser> {
  const browser = open(server, userAgent);
  // If nobody is signed in, the server redirects the browser from /account to the sign-in page.
  const form = await browser.open(`${server.origin}/account`);
  return { username, browser, account: await browser.send(form, { username, password: secret }) };
}
