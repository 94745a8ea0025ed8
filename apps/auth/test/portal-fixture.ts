// Starts what the portal tests need: an authorization server with the members of two facilities, and an SMTP server
// that stores e-mails. Users sign in with test browsers, which run no scripts.
import { type FormBrowser, openFormBrowser, type Page } from '@bay-booking/testkit/form-browser';
import { startSmtpSink } from '@bay-booking/testkit/smtp-sink';
import { decodeJwt } from 'jose';
import { cheapHash, scopes, startAuthServer } from './auth-server.ts';
import { setUpApp } from './factors-fixture.ts';
import type { ImportDocument } from './import-document.ts';

export const password = 'demo-person-pass';
// The same hash each time, so that an import of an account that exists does not change its password.
const passwordHash = cheapHash(password);
export const north = '/portal/facilities/fac-north';
export const daySheetUrl = 'https://bookings.example/day';

type Role = 'owner' | 'staff' | 'bookings-manager' | 'facility-manager';
type NewAccount = NonNullable<ImportDocument['accounts']>[number];

/** Returns an account with the id `acc-NAME` and the user name `NAME@range.example`. */
export const accountOf = (
  name: string,
  roles: Readonly<Record<string, Role>> = {},
  other: Partial<NewAccount> = {},
): NewAccount => ({
  id: `acc-${name}`,
  username: `${name}@range.example`,
  passwordHash,
  memberships: Object.entries(roles).map(([facilityId, role]) => ({ facilityId, role })),
  ...other,
});

const member = (name: string, roles: Readonly<Record<string, Role>>, kind: 'user' | 'service' = 'user'): NewAccount =>
  accountOf(name, roles, {
    name: `Name of ${name}`,
    email: `${name}@range.example`,
    emailVerified: true,
    kind,
  });

const accounts = [
  member('owner', { 'fac-north': 'owner' }),
  member('partner', { 'fac-north': 'owner' }),
  member('staff', { 'fac-north': 'staff' }),
  member('southerner', { 'fac-south': 'staff' }),
  member('chain', { 'fac-north': 'owner', 'fac-south': 'owner' }),
  member('nobody', {}),
  member('bot', { 'fac-north': 'bookings-manager' }, 'service'),
  member('south-bot', { 'fac-south': 'bookings-manager' }, 'service'),
];

export async function startPortal() {
  const smtp = await startSmtpSink();
  const server = await startAuthServer({ SMTP_URL: smtp.url, BOOKINGS_DAY_SHEET_URL: daySheetUrl });
  const addAccounts = (...added: NewAccount[]) => server.load({ accounts: added });
  await addAccounts(...accounts);
  /** Returns the URL of a path. */
  const at = (path: string): string => server.origin + path;
  const openBrowser = () => openFormBrowser([server.origin]);
  return {
    server,
    smtp,
    at,
    openBrowser,
    addAccounts,
    /** Sets up an authenticator app with the code that the user gets by mail. */
    setUpApp: (browser: FormBrowser, from?: string) =>
      setUpApp(server, browser, from, async (_server, address) => {
        const { subject } = await smtp.mailTo(address, (mail) => mail.subject.includes('is your code'));
        return subject.slice(0, 6);
      }),
    /** Signs in at a page of the portal, in a new browser. Returns the browser and the page that follows. */
    async signIn(name: string, path = '/portal') {
      const browser = openBrowser();
      const page = await browser.submit(path, { username: `${name}@range.example`, password });
      return { browser, page };
    },
    /** Waits for an invitation e-mail to this address, and returns the link in it. Ignores the link `previous`. */
    async invitationLink(email: string, previous?: string) {
      const linkIn = (text: string) => /http\S+\/portal\/invitation\?token=[\w-]+/.exec(text)?.[0];
      const mail = await smtp.mailTo(email, ({ text }) => linkIn(text) !== undefined && linkIn(text) !== previous);
      return linkIn(mail.text) as string;
    },
    /** Requests an access token with a personal access token. Returns the body of the response, and its status. */
    requestToken: (clientId: string, clientSecret: string, scope: string = scopes.bookings) =>
      server.token({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scope,
      }),
    /** Changes the database as if the account had signed in `minutes` ago and not used its session since. */
    async ageSession(name: string, minutes: number) {
      const accountId = `acc-${name}`;
      await server.db.raw(
        `update oidc_artifact
            set payload = jsonb_set(payload, '{loginTs}', to_jsonb(extract(epoch from now())::int - ?::int))
          where model = 'Session' and account_id = ?`,
        [minutes * 60, accountId],
      );
      await server.db.raw(
        `update browser_session
            set seen_at = now() - make_interval(mins => ?), signed_in_at = now() - make_interval(mins => ?)
          where account_id = ?`,
        [minutes, minutes, accountId],
      );
    },
    async close() {
      await server.close();
      await smtp.close();
    },
  };
}

export const facilitiesOf = (tokenResponse: Record<string, unknown>): unknown =>
  decodeJwt(String(tokenResponse.access_token)).facilities;

export const textById = (page: Page, id: string): string =>
  new RegExp(`id="${id}"[^>]*>([^<]*)<`).exec(page.html)?.[1] ?? '';
