// Adds users and signs them in, each in a new test browser.
import { openFormBrowser } from '@bay-booking/testkit/form-browser';
import { type AuthServer, cheapHash } from './auth-server.ts';

export const userAgents = {
  chrome: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
  firefox: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
};
export const password = 'seven unusual lamps';

export type TestUser = Awaited<ReturnType<typeof signInUser>>;

/** Changes the database as if every user had signed in this number of seconds ago. */
export const ageSignIns = ({ db }: AuthServer, seconds: number) =>
  db.raw(
    `update oidc_artifact
        set payload = jsonb_set(payload, '{loginTs}', to_jsonb(extract(epoch from now())::int - ?::int))
      where model = 'Session' and account_id is not null`,
    [seconds],
  );

let userCount = 0;

/** Adds a user whose address is not confirmed, as after a registration, and signs the user in. */
export async function registerUser(server: AuthServer) {
  const id = `acc-person-${++userCount}`;
  const username = `person${userCount}@example.org`;
  const user = { id, username, name: 'Petra Person', email: username, passwordHash: cheapHash(password) };
  await server.load({ accounts: [user] });
  return signInUser(server, username);
}

/** `account` is the page "Your account" or, after a failed sign-in, the sign-in page with its error. */
export async function signInUser(
  server: AuthServer,
  username: string,
  { userAgent = userAgents.chrome, secret = password } = {},
) {
  const browser = openFormBrowser([server.origin], { 'User-Agent': userAgent });
  // If nobody is signed in, the server redirects the browser from /account to the sign-in page.
  return { username, browser, account: await browser.submit('/account', { username, password: secret }) };
}
